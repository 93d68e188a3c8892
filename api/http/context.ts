/** What every endpoint is given: the context of the process and the services that its main has built. */
import type { OAuthProviders } from '#config/oauth-providers.ts'
import type { Plan, Plans } from '#config/plans.ts'
import type { Keyring } from '#src/auth/keys.ts'
import type { AudienceListing } from '#src/contacts/audiences.ts'
import type { Finder } from '#src/contacts/find.ts'
import type { Context } from '#src/context.ts'
import type { EventWatch } from '#src/events/feed-watch.ts'
import type { Attempts } from '#src/rate-limits/attempt-limits.ts'
import type { RequestRate } from '#src/rate-limits/request-rate.ts'
import type { Acceptor } from '#src/messages/accept.ts'
import type { OperatorToken } from '#src/operator/token.ts'
import type { Renderer } from '#src/templates/render.ts'
import type { TrackingDoor } from '#src/tracking/hit-handler.ts'
import type { LargeBodies } from './read-body.ts'
import type { MailView } from './mail-view.ts'
import type { Metrics } from './metrics.ts'

export interface ApiContext extends Context {
  readonly plans: Plans
  readonly oauthProviders: OAuthProviders
  readonly keyring: Keyring
  readonly operatorToken: OperatorToken
  readonly acceptor: Acceptor
  readonly renderer: Renderer
  readonly tracking: TrackingDoor
  readonly mailView: MailView
  readonly rate: RequestRate
  readonly attempts: Attempts
  readonly metrics: Metrics
  readonly eventWatch: EventWatch
  readonly contacts: Finder
  /** The JSON of a page of a workspace's audiences. */
  readonly audiencePages: (workspaceId: string, listing: AudienceListing) => Promise<string>
  readonly largeBodies: LargeBodies
}

/** The plan by its name. A name that the configuration no longer knows is the smallest plan, never an unlimited one. */
export function planOf(ctx: Pick<ApiContext, 'plans'>, name: string): Plan {
  const plan = ctx.plans[name] ?? ctx.plans['free']
  if (plan === undefined) throw new Error('there is no plan "free"')
  return plan
}
