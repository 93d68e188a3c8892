/** The state that the steps of one dry run share. */
import type { Plans } from '#config/plans.ts'
import type { OpenPipeline } from '#mta/delivery/delivery-pipeline.ts'
import type { Context } from '#src/context.ts'
import type { DryRunRequest, DryRunStep } from '#src/operator/dry-runs.ts'
import type { MailToAuthenticate } from './authentication.ts'
import type { DryRunSender } from './gates.ts'

export interface DryRunDeps {
  readonly ctx: Context
  readonly plans: Plans
  readonly openPipeline: OpenPipeline
}

export interface DryRunContext extends DryRunDeps {
  readonly request: DryRunRequest
  readonly messageId: string
  /** The domain of the recipient. */
  readonly domain: string
  readonly sender: DryRunSender
  /** The report so far, in order. */
  readonly steps: DryRunStep[]
  /** The SMTP conversation so far. */
  readonly lines: string[]
}

/** The message as a delivery would send it, with its envelope sender and source pool. */
export type ComposedMail = Omit<MailToAuthenticate, 'sourceAddress'> & {
  readonly smtputf8: boolean
  readonly pool: string
}

/** The hint for a temporary failure. */
export const RETRY_HINT = 'a real message would be deferred and retried'
