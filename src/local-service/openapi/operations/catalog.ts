import { json, jsonBody, PAGE_QUERY, type Specs } from "../operation-spec.ts";
import { object, pageOf, refTo } from "../schema.ts";
import { SUBMIT_ERRORS, SUBMIT_SUCCESS } from "../submit.ts";
import { TAGS } from "../tags.ts";

const tag = TAGS.models;

export const catalogOperations: Specs = {
  "GET /models": {
    tag,
    operationId: "list_models",
    query: { modality: { type: "string", enum: ["image", "video", "audio"] } },
    success: json(pageOf("ModelSummary"), "All models, on one page."),
    errors: ["INVALID_ARGUMENT"],
  },
  "GET /models/{model}": {
    tag,
    operationId: "get_model",
    success: json(refTo("Model"), "The model."),
    errors: ["GONE", "FAILED_PRECONDITION"],
  },
  "GET /models/{model}/openapi.json": {
    tag,
    operationId: "get_model_openapi",
    success: json(refTo("ApiDocument"), "Its submit operation, OpenAPI 3.1."),
    errors: ["GONE", "FAILED_PRECONDITION"],
  },
  "POST /models/{model}/estimate": {
    tag,
    operationId: "estimate_job",
    body: jsonBody(refTo("EstimateJobRequest")),
    success: json(refTo("Estimate"), "What a job would cost."),
    errors: ["GONE", "MODERATION_FAILED"],
  },
  "GET /models/{model}/jobs": {
    tag,
    operationId: "list_model_jobs",
    query: PAGE_QUERY,
    success: json(pageOf("JobSummary"), "A page of jobs, newest first; of a retired model too."),
  },
  "GET /models/{model}/voices": {
    tag,
    operationId: "list_model_voices",
    query: PAGE_QUERY,
    success: json(pageOf("Voice"), "Stock voices, then your own."),
    errors: ["GONE", "FAILED_PRECONDITION"],
  },
  "POST /models/{model}": {
    tag,
    operationId: "submit_job",
    body: jsonBody(refTo("SubmitJobRequest")),
    success: SUBMIT_SUCCESS,
    errors: SUBMIT_ERRORS,
  },
  "POST /files": {
    tag: TAGS.files,
    operationId: "upload_file",
    body: {
      mediaType: "multipart/form-data",
      schema: object({ file: { type: "string", contentMediaType: "application/octet-stream" } }),
    },
    success: json(refTo("UploadedFile"), "The handle to pass as a media input.", 201),
  },
  "GET /openapi.json": {
    tag: TAGS.openapi,
    operationId: "get_openapi",
    success: json(refTo("ApiDocument"), "This document."),
  },
};
