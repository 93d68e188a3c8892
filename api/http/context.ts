/** The first argument of every endpoint: the context of the process and the services that `api/main.ts` builds. */
import type { IdentityProviders } from '#config/identity-providers.ts'
import type { OAuthProviders } from '#config/oauth-providers.ts'
import type { Plan, Plans } from '#config/plans.ts'
import type { Keyring } from '#src/auth/keys.ts'
import type { ChangeStream } from '#src/change-stream/change-stream.ts'
import type { AudienceQuery } from '#src/contacts/audiences.ts'
import type { ContactFinder } from '#src/contacts/find-contact.ts'
import type { MemberLister } from '#src/contacts/member-pages.ts'
import type { Context } from '#src/context.ts'
import type { SubjectRenderer } from '#src/deferred-content/subjects.ts'
import type { EventWatch } from '#src/events/feed-watch.ts'
import type { IdentityClient } from '#src/people/identity-client.ts'
import type { SessionChecks } from '#src/people/session-checks.ts'
import type { AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import type { RequestRateLimiter } from '#src/rate-limits/request-rate.ts'
import type { Acceptor } from '#src/messages/accept.ts'
import type { FileDownloads } from '#src/net/file-downloads.ts'
import type { NodeMembership } from '#src/operator/node-membership.ts'
import type { NoticeBuffer } from '#src/operator/notice-buffer.ts'
import type { OperatorToken } from '#src/operator/token.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import type { LinkPolicy } from '#src/tracking/link-policy.ts'
import type { TrackingHitHandler } from '#src/tracking/hit-handler.ts'
import type { ListPage } from './list-cursor.ts'
import type { LargeBodyReader } from './request-reader.ts'
import type { MailView } from './mail-view.ts'
import type { MessageSources } from './message-source.ts'
import type { Metrics } from './metrics.ts'

export interface ApiContext extends Context {
  readonly plans: Plans
  /** This machine or container among those of the installation. */
  readonly node: NodeMembership
  readonly oauthProviders: OAuthProviders
  readonly identityProviders: IdentityProviders
  readonly identities: IdentityClient
  readonly keyring: Keyring
  readonly operatorToken: OperatorToken
  readonly notices: NoticeBuffer
  readonly acceptor: Acceptor
  readonly renderer: Renderer
  readonly tracking: TrackingHitHandler
  readonly linkPolicy: LinkPolicy
  readonly mailView: MailView
  readonly messageSources: MessageSources
  readonly subjects: SubjectRenderer
  readonly rate: RequestRateLimiter
  readonly attempts: AttemptLimiter
  readonly metrics: Metrics
  readonly eventWatch: EventWatch
  readonly changeStream: ChangeStream
  readonly sessionChecks: SessionChecks
  readonly contacts: ContactFinder
  readonly listMembers: MemberLister
  /** One page of a workspace's audiences, as JSON. */
  readonly audiencePages: (workspaceId: string, listing: AudienceQuery & ListPage) => Promise<string>
  readonly largeBodies: LargeBodyReader
  readonly downloads: FileDownloads
}

/** A plan by name. A name that the configuration no longer has means the free plan, never an unlimited one. */
export function planOf(ctx: Pick<ApiContext, 'plans'>, name: string): Plan {
  const plan = ctx.plans[name] ?? ctx.plans['free']
  if (plan === undefined) throw new Error('the configuration has no plan "free"')
  return plan
}
