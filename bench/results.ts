/**
 * All that one run of the benchmark found out: what goes into the JSON file and
 * what the tables are made from. A scenario that was not asked for, or failed,
 * is missing.
 */
import type { ApiResult } from './scenarios/api.ts'
import type { AutomationsResult } from './scenarios/automations.ts'
import type { BacklogResult } from './scenarios/backlog.ts'
import type { CampaignResult } from './scenarios/campaign.ts'
import type { Compared } from './scenarios/compare.ts'
import type { ContactsResult } from './scenarios/contacts.ts'
import type { DepthResult } from './scenarios/depth.ts'
import type { ImportResult } from './scenarios/import.ts'
import type { LatencyResult } from './scenarios/latency.ts'
import type { TarpitsResult } from './scenarios/tarpits.ts'
import type { TrackingResult } from './scenarios/tracking.ts'

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
