// Runs inside the browser: plain script, global functions called by play.ts.

const side = 64;

function pixelsOf(source) {
  const canvas = document.createElement("canvas");
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext("2d");
  context.drawImage(source, 0, 0, side, side);
  return context.getImageData(0, 0, side, side).data;
}

/** Shows a picture; its size and its number of colours. */
globalThis.lookAt = async (url) => {
  const image = new Image();
  image.src = url;
  await image.decode();
  const colours = new Set(new Uint32Array(pixelsOf(image).buffer)).size;
  return { width: image.naturalWidth, height: image.naturalHeight, colours };
};

/** Decodes sound; its length and root mean square. */
globalThis.listenTo = async (url) => {
  const bytes = await (await fetch(url)).arrayBuffer();
  const sound = await new OfflineAudioContext(1, 1, 48_000).decodeAudioData(bytes);
  const samples = sound.getChannelData(0);
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return { durationMs: sound.duration * 1000, loudness: Math.sqrt(sum / samples.length) };
};

/** Plays a video to its end; compares its first picture with later ones. */
globalThis.play = async (url) => {
  const video = document.createElement("video");
  video.src = url;
  document.body.append(video);
  const happened = (name) =>
    new Promise((done, failed) => {
      video.addEventListener(name, done, { once: true });
      video.addEventListener("error", () => failed(new Error(video.error.message)), { once: true });
    });
  const seek = (seconds) => {
    const arrived = happened("seeked");
    video.currentTime = seconds;
    return arrived;
  };
  await happened("loadeddata");
  const first = pixelsOf(video);
  let difference = 0;
  for (const part of [0.3, 0.6, 0.9]) {
    await seek(video.duration * part);
    // The picture of the new instant is drawn with one of the next frames of the page.
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    const later = pixelsOf(video);
    difference = Math.max(
      difference,
      first.reduce((sum, value, at) => sum + Math.abs(value - later[at]), 0),
    );
  }
  await seek(Math.max(0, video.duration - 0.5));
  const ended = happened("ended");
  await video.play();
  await ended;
  const seen = { width: video.videoWidth, height: video.videoHeight, durationMs: video.duration * 1000 };
  video.remove();
  return { ...seen, moves: difference > 1000, loudness: (await globalThis.listenTo(url)).loudness };
};
