/**
 * The results of one benchmark run, as stored in the JSON file and shown in the
 * tables. A scenario that was not selected or that failed has no entry.
 */
import type { ProcessStages } from '#bench/harness/stages.ts'
import type { ApiResult } from '#bench/scenarios/api.ts'
import type { AutomationsResult } from '#bench/scenarios/automations.ts'
import type { BacklogResult } from '#bench/scenarios/backlog.ts'
import type { CampaignResult } from '#bench/scenarios/campaign.ts'
import type { ServerComparison } from '#bench/scenarios/compare.ts'
import type { ContactsResult } from '#bench/scenarios/contacts.ts'
import type { CoresResult } from '#bench/scenarios/cores.ts'
import type { DepthResult } from '#bench/scenarios/depth.ts'
import type { ImportResult } from '#bench/scenarios/import.ts'
import type { LatencyResult } from '#bench/scenarios/latency.ts'
import type { StreamsResult } from '#bench/scenarios/streams.ts'
import type { SubmissionResult } from '#bench/scenarios/submission.ts'
import type { TarpitsResult } from '#bench/scenarios/tarpits.ts'
import type { TrackingResult } from '#bench/scenarios/tracking.ts'

export interface BenchResults {
  readonly e2e?: readonly ServerComparison[]
  readonly smtp?: readonly ServerComparison[]
  readonly submission?: SubmissionResult
  readonly references?: readonly ServerComparison[]
  readonly latency?: LatencyResult
  readonly backlog?: BacklogResult
  readonly depth?: DepthResult
  readonly cores?: CoresResult
  readonly api?: ApiResult
  readonly import?: ImportResult
  readonly contacts?: ContactsResult
  readonly tarpits?: TarpitsResult
  readonly campaign?: CampaignResult
  readonly automations?: AutomationsResult
  readonly tracking?: TrackingResult
  /** With `--profile`: the stages of each process. */
  readonly stages?: readonly ProcessStages[]
  readonly streams?: StreamsResult
}
