/**
 * All that one run of the benchmark found out: what goes into the JSON file and
 * what the tables are made from. A scenario that was not asked for, or failed,
 * is missing.
 */
import type { ApiResult } from '#bench/scenarios/api.ts'
import type { AutomationsResult } from '#bench/scenarios/automations.ts'
import type { BacklogResult } from '#bench/scenarios/backlog.ts'
import type { CampaignResult } from '#bench/scenarios/campaign.ts'
import type { Compared } from '#bench/scenarios/compare.ts'
import type { ContactsResult } from '#bench/scenarios/contacts.ts'
import type { DepthResult } from '#bench/scenarios/depth.ts'
import type { ImportResult } from '#bench/scenarios/import.ts'
import type { LatencyResult } from '#bench/scenarios/latency.ts'
import type { TarpitsResult } from '#bench/scenarios/tarpits.ts'
import type { TrackingResult } from '#bench/scenarios/tracking.ts'

export interface Results {
  readonly e2e?: readonly Compared[]
  readonly smtp?: readonly Compared[]
  readonly references?: readonly Compared[]
  readonly latency?: LatencyResult
  readonly backlog?: BacklogResult
  readonly depth?: DepthResult
  readonly api?: ApiResult
  readonly import?: ImportResult
  readonly contacts?: ContactsResult
  readonly tarpits?: TarpitsResult
  readonly campaign?: CampaignResult
  readonly automations?: AutomationsResult
  readonly tracking?: TrackingResult
}
