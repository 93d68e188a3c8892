/**
 * The steps of a delivery as functions, built once for the outbound role. `deliver.ts` depends on this interface
 * only, so a step can be observed or replaced without touching the others.
 */
import { rootCertificates } from 'node:tls'
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { readAuthorities } from '#config/setting-file.ts'
import { compose } from '#src/mime/compose.ts'
import type { Composed, Draft } from '#src/mime/draft.ts'
import { createMessageRenderer, type MessageRenderer } from '#mta/compose/render-thread.ts'
import { seal } from '#mta/compose/arc-seal.ts'
import { sign, type DkimKey, type Signable } from '#mta/compose/sign.ts'
import type { Egress } from '#mta/egress/source-choice.ts'
import { createAddressLookup, type AddressLookup } from '#mta/route/addresses.ts'
import { createResolver } from '#mta/route/resolve.ts'
import { createRouter, type Host, type Route, type Router } from '#mta/route/route.ts'
import type { TlsPolicy } from '#mta/security/policy.ts'
import { startTransportSecurity, type TransportSecurity } from '#mta/security/transport-security.ts'
import type { SessionSettings } from '#mta/smtp/open.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import { createCircuitBreaker, type CircuitBreaker } from '#mta/transport/circuit-breaker.ts'
import type { ConnectDeps } from '#mta/transport/connect.ts'
import { startConnectedAccounts, type ConnectedAccounts } from '#mta/transport/connected-accounts.ts'
import { createDirectTransport, type DirectTransport } from '#mta/transport/direct.ts'
import { createBatcher } from '#src/concurrency/batcher.ts'
import { loadMailContacts, type MailContact, type MailContactRef } from '#src/contacts/mail-contacts.ts'
import type { Context } from '#src/context.ts'
import { findDeadLinks } from '#src/going-live/public-urls.ts'
import { createDeferredContentResolver, type DeferredContentResolver } from '#src/deferred-content/deferred-content.ts'
import { readOperatorKey, withOperatorKey } from '#src/domains/operator-key.ts'
import { createSendingDomainCache, type SendingDomain } from '#src/domains/signing-keys.ts'
import type { ArcChain } from '#src/mail/arc-chain.ts'
import { returnPathOf } from '#src/mail/verp.ts'
import {
  loadAttachments,
  loadBodies,
  findCurrentSuppressions,
  type WorkspaceAddress,
  type ClaimedRecipient,
  type MessageBodies,
} from '#src/messages/claim.ts'
import type { Attachment } from '#src/messages/submission.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createTrackingCache } from '#src/tracking/settings.ts'
import { feedbackFieldsOf, type FeedbackRecipient } from './feedback-fields.ts'
import { createMemoryBudget, type MemoryBudget } from './memory-budget.ts'
import { createTrackingPlanner, type BulkRecipient, type TrackingPlanner } from './message-builder.ts'

/** Composing needs about three times the size of a message. */
const MAX_LARGE_BYTES = 40 * 1024 * 1024
const LOOKUP_BATCH = 500

export interface DeliveryPipeline {
  /** Epoch ms. */
  now(): number
  /** MESSAGE_LIFETIME_SECONDS; null: by tier. */
  readonly lifetimeSeconds: number | null
  route(domain: string): Promise<Route>
  /** Why a site cannot be reached now from a source (`pathOf`); null: it may be tried. */
  unreachableReason(path: string): string | null
  /** The address families of the first host that has any. */
  families(hosts: readonly Host[]): Promise<ReadonlySet<4 | 6>>
  /** Whether the address is on the suppression list now. */
  suppression(recipient: WorkspaceAddress): Promise<ClaimedRecipient['suppression']>
  /** The contact that deferred content is for, as it is now. */
  contact(ref: MailContactRef): Promise<MailContact | null>
  tlsPolicy(domain: string, hosts: readonly Host[]): Promise<TlsPolicy>
  /** The signing keys of a sending domain, its source pool, and the domain of its return-path. */
  sendingDomain(domainId: string | null): Promise<SendingDomain>
  texts(messageId: string): Promise<MessageBodies>
  attachments(messageId: string): Promise<readonly Attachment[]>
  /** The template source, parameters and headers of a message with deferred content. */
  readonly fillIn: DeferredContentResolver['resolve']
  readonly messageRenderer: Pick<MessageRenderer, 'render'>
  readonly planTracking: TrackingPlanner
  /** The List-Unsubscribe headers of bulk mail that was sent by API. */
  bulkHeaders(recipient: BulkRecipient): Promise<Draft['headers']>
  compose(draft: Draft): Promise<Composed>
  /** The whole message: signatures, header and body. `isUrgent`: without waiting for those of other messages. */
  sign(message: Signable, keys: readonly DkimKey[], isUrgent: boolean): Promise<Buffer>
  /** The whole message with an ARC set on top; without one if there is no RSA key. */
  seal(message: Composed, keys: readonly DkimKey[], chain: ArcChain): Promise<Buffer>
  /** Fields for feedback loops, which identify the sender and the recipient. */
  feedbackFields(recipient: FeedbackRecipient): Draft['headers']
  /** The envelope sender. `mailFrom`: the sending domain's own bounce domain; null: the operator's. */
  returnPath(recipient: Pick<ClaimedRecipient, 'messageId' | 'n' | 'submitted'>, mailFrom: string | null): string
  readonly transport: DirectTransport
  readonly accounts: ConnectedAccounts
  /** Bounds the large content in memory. */
  readonly memory: MemoryBudget
}

export interface OpenPipeline {
  readonly pipeline: DeliveryPipeline
  readonly router: Router
  readonly breaker: CircuitBreaker
  readonly egress: Egress
  readonly opening: ConnectDeps
  close(): Promise<void>
}

export function openPipeline(ctx: Context, egress: Egress): OpenPipeline {
  const { config, clock, log } = ctx
  const resolver = createResolver({ config, clock })
  const router = createRouter({ config, resolver, log })
  const security = startTransportSecurity(ctx, resolver)
  const breaker = createCircuitBreaker(() => clock.now(), config.retryScale)
  const opening: ConnectDeps = {
    settings: sessionSettings(ctx),
    findAddresses: createAddressLookup({ config, clock, resolver }),
    requirementFor: (policy, host) => security.policies.requirementFor(policy, host),
    brokenTls: security.brokenTls,
    results: security.results,
  }
  const transport = createDirectTransport({ ...opening, breaker, egress, now: () => clock.now() })
  const accounts = startConnectedAccounts(ctx)
  const messageRenderer = createMessageRenderer()
  const pipeline: DeliveryPipeline = {
    ...routingSteps(ctx, { router, findAddresses: opening.findAddresses, breaker, security }),
    ...contentSteps(ctx),
    messageRenderer,
    transport,
    accounts,
    memory: createMemoryBudget(MAX_LARGE_BYTES),
  }
  return {
    pipeline,
    router,
    breaker,
    egress,
    opening,
    close: async () => {
      await transport.close()
      await accounts.stop()
      await messageRenderer.stop()
      await egress.stop()
      await security.stop()
      resolver.stop()
    },
  }
}

type RoutingSteps = Pick<
  DeliveryPipeline,
  'now' | 'lifetimeSeconds' | 'route' | 'unreachableReason' | 'families' | 'tlsPolicy'
>

interface RoutingParts {
  readonly router: Router
  readonly findAddresses: AddressLookup
  readonly breaker: CircuitBreaker
  readonly security: TransportSecurity
}

function routingSteps(
  { clock, config }: Context,
  { router, findAddresses, breaker, security }: RoutingParts,
): RoutingSteps {
  return {
    now: () => clock.now(),
    lifetimeSeconds: config.messageLifetimeSeconds,
    route: (domain) => router.route(domain),
    unreachableReason: (path) => breaker.refusalReason(path),
    families: (hosts) => familiesOf(findAddresses, hosts),
    tlsPolicy: (domain, hosts) => security.policies.find(domain, hosts),
  }
}

type ContentSteps = Omit<DeliveryPipeline, keyof RoutingSteps | 'messageRenderer' | 'transport' | 'accounts' | 'memory'>

/** The steps that load and build a message. One statement reads for many deliveries. */
function contentSteps(ctx: Context): ContentSteps {
  const { config, clock, db, log } = ctx
  const batching = { max: LOOKUP_BATCH, concurrency: 1 }
  const suppressions = createBatcher(
    (recipients: WorkspaceAddress[]) => findCurrentSuppressions(db, recipients),
    batching,
  )
  const contacts = createBatcher((refs: MailContactRef[]) => loadMailContacts(db, refs), batching)
  const domains = createSendingDomainCache(ctx)
  const [links, tracking] = [createLinks(ctx), createTrackingCache(ctx)]
  const deferredContent = createDeferredContentResolver({ ctx, links, tracking })
  const mac = (data: Buffer): Buffer => ctx.encryption.mac('return-path', data)
  const operatorKey = readOperatorKey(config)
  const findDomain = async (domainId: string): Promise<SendingDomain> => {
    const domain = await domains.find(domainId)
    return domain.kind === 'ready' ? { ...domain, keys: withOperatorKey(domain.keys, operatorKey) } : domain
  }
  const tokenOf = (recipient: FeedbackRecipient): string => returnPathOf(recipient, mac, '').slice(0, -1)
  const dead = findDeadLinks(config)
  if (dead !== null)
    log.warn(`mail has no tracking and no List-Unsubscribe, because links lead nowhere: ${dead.detail}; ${dead.todo}`)
  return {
    suppression: (recipient) => suppressions.add(recipient),
    contact: (ref) => contacts.add(ref),
    sendingDomain: (domainId) => (domainId === null ? Promise.resolve(UNSIGNED_DOMAIN) : findDomain(domainId)),
    texts: (messageId) => loadBodies(db, messageId),
    attachments: (messageId) => loadAttachments(db, messageId),
    fillIn: (mail) => deferredContent.resolve(mail),
    // links that lead nowhere are worse than none
    planTracking: dead !== null ? () => Promise.resolve(null) : createTrackingPlanner(links, tracking),
    bulkHeaders: async ({ messageId, n, workspaceId, address }) => {
      if (dead !== null) return []
      const { base } = await tracking.find(workspaceId)
      return links.bulkUnsubscribe({ base, messageId, n, workspaceId, address })
    },
    compose,
    sign: (message, keys, isUrgent) => sign(message, keys, new Date(clock.now()), isUrgent),
    seal: (message, keys, chain) => seal(message, keys, { chain, at: new Date(clock.now()) }),
    feedbackFields: (recipient) => feedbackFieldsOf({ config, tokenOf }, recipient),
    returnPath: (claimed, mailFrom) =>
      hasNullSender(claimed) ? '' : returnPathOf(claimed, mac, mailFrom ?? config.bounceDomain),
  }
}

/** A report, and a forwarded bounce: no bounce may answer them (RFC 5321 4.5.5). */
function hasNullSender({ submitted }: Pick<ClaimedRecipient, 'submitted'>): boolean {
  return submitted?.isReport === true || (submitted?.forward !== undefined && submitted.from === '')
}

/** For messages without a sending domain, such as Mailstead's own reports. */
const UNSIGNED_DOMAIN: SendingDomain = { kind: 'ready', keys: [], mailFrom: null, pool: REGIONS[DEFAULT_REGION].pool }

/**
 * Opportunistic TLS between unknown servers: used when offered, with any certificate (RFC 7435). A domain's policy
 * can be stricter.
 */
function sessionSettings({ config }: Context): SessionSettings {
  const ca =
    config.extraCaFile === null
      ? {}
      : { ca: [...rootCertificates, readAuthorities('EXTRA_CA_FILE', config.extraCaFile)].join('\n') }
  return {
    ehloName: config.serverName,
    tls: 'opportunistic',
    rejectUnauthorized: false,
    timeouts: chooseTimeouts({ dot: config.dotTimeoutSeconds * 1000 }),
    ...ca,
  }
}

async function familiesOf(findAddresses: AddressLookup, hosts: readonly Host[]): Promise<ReadonlySet<4 | 6>> {
  for (const host of hosts) {
    const found = await findAddresses(host)
    if (found.kind === 'addresses') return new Set(found.addresses.map(({ family }) => family))
  }
  return new Set()
}
