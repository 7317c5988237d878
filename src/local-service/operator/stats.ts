import { balanceOf, usd } from "../money.ts";
import type { ServiceContext } from "../service-context.ts";

/** The state of a workspace's wallet. `balance` is in dollars, and all other amounts are in micro-dollars. */
export interface WalletStats {
  readonly workspace_id: string;
  readonly balance: number;
  readonly funded_micros: number;
  readonly charged_micros: number;
  readonly refunded_micros: number;
  readonly card_declined: boolean;
}

/** The response of `GET /_local/stats`. Its request counts start at zero when the process starts. */
export interface ServiceStats {
  readonly jobs_created: number;
  /** Number of jobs for each idempotency key. */
  readonly jobs_by_key: Readonly<Record<string, number>>;
  readonly jobs_by_model: Readonly<Record<string, number>>;
  readonly replayed_submits: number;
  /** Requests that a replay could not answer, with their differences from the most similar recorded request. */
  readonly unrecorded: readonly string[];
  readonly charged_micros: number;
  readonly refunded_micros: number;
  /** Number of requests for each route and, within a route, for each HTTP status. */
  readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly open_streams: number;
  readonly running_jobs: number;
  readonly wallets: readonly WalletStats[];
  /** One message for each disabled model in the catalog, with the reason. */
  readonly disabled_models: readonly string[];
  /** One message for each model whose published table of field combinations has a line that cannot be read. */
  readonly unread_tables: readonly string[];
}

export function walletStats({ store }: Pick<ServiceContext, "store">): WalletStats[] {
  return store.workspaces.all().map((row) => ({
    workspace_id: row.workspaceId,
    balance: usd(balanceOf(row)),
    funded_micros: row.fundedMicros,
    charged_micros: row.chargedMicros,
    refunded_micros: row.refundedMicros,
    card_declined: row.cardDeclined === 1,
  }));
}

export function readStats(service: ServiceContext): ServiceStats {
  const jobs = service.store.countJobs();
  const wallets = walletStats(service);
  const { requests, replayed, unrecorded } = service.metrics.snapshot();
  return {
    jobs_created: jobs.total,
    jobs_by_key: jobs.byKey,
    jobs_by_model: jobs.byModel,
    replayed_submits: replayed,
    unrecorded,
    charged_micros: wallets.reduce((sum, wallet) => sum + wallet.charged_micros, 0),
    refunded_micros: wallets.reduce((sum, wallet) => sum + wallet.refunded_micros, 0),
    requests,
    open_streams: service.streams.count(),
    running_jobs: service.runner.running(),
    wallets,
    disabled_models: service.catalog.defects,
    unread_tables: service.catalog.notices,
  };
}
