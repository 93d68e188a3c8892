/**
 * The stages of a delivery, put together once for the outbound role: which function does each step. `deliver.ts` is written against this list,
 * so a step can be watched or replaced without touching the others.
 */
import { rootCertificates } from 'node:tls'
import { readAuthorities } from '#config/given-file.ts'
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { createBatcher } from '#src/batcher.ts'
import type { Context } from '#src/context.ts'
import { compose } from '#mta/compose/compose.ts'
import type { Composed, Draft } from '#mta/compose/draft.ts'
import { createLetters, type Letters } from '#mta/compose/letters.ts'
import { sign, type SigningKey, type Unsigned } from '#mta/compose/sign.ts'
import type { Egress } from '#mta/egress/egress.ts'
import { createResolver } from '#mta/route/resolve.ts'
import { createRouter, type Host, type Route, type Router } from '#mta/route/route.ts'
import type { TlsPolicy } from '#mta/security/policy.ts'
import type { SessionSettings } from '#mta/smtp/open.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import { createBreaker, type Breaker } from '#mta/transport/breaker.ts'
import { createTransport, type Transport } from '#mta/transport/by-source.ts'
import { createDirect } from '#mta/transport/direct.ts'
import type { OpeningParts, Resolve } from '#mta/transport/opening.ts'
import { loadMailContacts, type MailContact, type MailContactRef } from '#src/contacts/mail-contacts.ts'
import { returnPathOf } from '#src/mail/verp.ts'
import {
  loadAttachments,
  loadTexts,
  lookUpSuppressions,
  type Addressee,
  type Claimed,
  type Texts,
} from '#src/messages/claim.ts'
import { createRecipes, type Recipes } from '#src/recipes/recipes.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createTrackingCache } from '#src/tracking/settings.ts'
import { createSendingDomainCache, type SendingDomain } from '#src/domains/signing-keys.ts'
import type { Attachment } from '#src/messages/submission.ts'
import { startAccounts, type ConnectedAccounts } from './accounts.ts'
import { createMarking, type Marking } from './marking.ts'
import { createMemory, type Memory } from './memory.ts'
import { startTransportSecurity } from './transport-security.ts'

/** Composing holds a message about three times. */
const MOST_LARGE_BYTES = 40 * 1024 * 1024
const LOOK_UP_BATCH = 500

export interface Stages {
  now(): number
  readonly lifetimeSeconds: number | null
  route(domain: string): Promise<Route>
  /** Why a site is not worth a try now from a source (`pathOf`), null when it is. */
  whyNot(path: string): string | null
  /** The families of address of the first of the hosts that has any. */
  families(hosts: readonly Host[]): Promise<ReadonlySet<4 | 6>>
  /** Whether its address is on the suppression list by now. */
  suppression(recipient: Pick<Claimed, 'workspaceId' | 'address'>): Promise<Claimed['suppression']>
  /** Whom a recipe is for, by now. */
  contact(ref: MailContactRef): Promise<MailContact | null>
  tlsPolicy(domain: string, hosts: readonly Host[]): Promise<TlsPolicy>
  /** Its signing keys and where its bounces come to. */
  sendingDomain(domainId: string | null): Promise<SendingDomain>
  texts(messageId: string): Promise<Texts>
  attachments(messageId: string): Promise<readonly Attachment[]>
  /** What mail of a campaign or an automation is written from, and what writes it. */
  readonly fillIn: Recipes['fillIn']
  readonly letters: Pick<Letters, 'write'>
  /** What is tracked of a mail. */
  readonly marks: Marking
  compose(draft: Draft): Promise<Composed>
  sign(unsigned: Unsigned, keys: readonly SigningKey[]): Promise<string>
  /** `mailFrom` is the sending domain's own bounce domain; null = the operator's. */
  returnPath(recipient: Pick<Claimed, 'messageId' | 'n' | 'submitted'>, mailFrom: string | null): string
  readonly transport: Transport
  readonly accounts: ConnectedAccounts
  /** Large content in memory. */
  readonly memory: Memory
}

export interface Assembled {
  readonly stages: Stages
  readonly router: Router
  readonly breaker: Breaker
  readonly egress: Egress
  readonly opening: OpeningParts
  close(): Promise<void>
}

export function assembleStages(ctx: Context, egress: Egress): Assembled {
  const { config, clock, log } = ctx
  const resolver = createResolver({ config, clock })
  const router = createRouter({ config, clock, log, resolver })
  const security = startTransportSecurity(ctx, resolver)
  const breaker = createBreaker(() => clock.now(), config.retryScale)
  const opening: OpeningParts = {
    settings: sessionSettings(ctx),
    resolve: (host) => resolveHost(router, host),
    demand: (policy, host) => security.policies.demand(policy, host),
    brokenTls: security.brokenTls,
    results: security.results,
  }
  const direct = createDirect({ ...opening, breaker, now: () => clock.now() })
  const transport = createTransport({ direct, egress })
  const accounts = startAccounts(ctx)
  const domains = createSendingDomainCache(ctx)
  const suppressions = createBatcher((wanted: Addressee[]) => lookUpSuppressions(ctx.db, wanted), {
    max: LOOK_UP_BATCH,
    lanes: 1,
  })
  const contacts = createBatcher((wanted: MailContactRef[]) => loadMailContacts(ctx.db, wanted), {
    max: LOOK_UP_BATCH,
    lanes: 1,
  })
  const letters = createLetters()
  const [links, tracking] = [createLinks(ctx), createTrackingCache(ctx)]
  const recipes = createRecipes({ ctx, links, tracking })
  const mac = (data: Buffer): Buffer => ctx.vault.mac('return-path', data)
  const stages: Stages = {
    now: () => clock.now(),
    lifetimeSeconds: config.messageLifetimeSeconds,
    route: (domain) => router.route(domain),
    whyNot: (path) => breaker.whyNot(path),
    families: (hosts) => familiesOf(router, hosts),
    suppression: (recipient) => suppressions.add(recipient),
    contact: (ref) => contacts.add(ref),
    tlsPolicy: (domain, hosts) => security.policies.find(domain, hosts),
    sendingDomain: (domainId) =>
      domainId === null
        ? Promise.resolve({ kind: 'ready', keys: [], mailFrom: null, pool: REGIONS[DEFAULT_REGION].pool })
        : domains.find(domainId),
    texts: (messageId) => loadTexts(ctx.db, messageId),
    attachments: (messageId) => loadAttachments(ctx.db, messageId),
    fillIn: (mail) => recipes.fillIn(mail),
    letters,
    marks: createMarking(links, tracking),
    compose,
    sign: (unsigned, signingKeys) => sign(unsigned, signingKeys, new Date(clock.now())),
    // of a report nothing may come back (RFC 5321 4.5.5)
    returnPath: (claimed, mailFrom) =>
      claimed.submitted?.isReport === true ? '' : returnPathOf(claimed, mac, mailFrom ?? config.bounceDomain),
    transport,
    accounts,
    memory: createMemory(MOST_LARGE_BYTES),
  }
  return {
    stages,
    router,
    breaker,
    egress,
    opening,
    close: async () => {
      await transport.close()
      await accounts.stop()
      await letters.stop()
      await egress.stop()
      await security.stop()
      router.stop()
    },
  }
}

/** Mail between servers that never met: encrypted when offered, whoever's certificate it is (RFC 7435). Stricter is each domain's own wish. */
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

async function familiesOf(router: Router, hosts: readonly Host[]): Promise<ReadonlySet<4 | 6>> {
  for (const host of hosts) {
    const found = await router.addresses(host)
    if (found.kind === 'addresses') return new Set(found.addresses.map(({ family }) => family))
  }
  return new Set()
}

async function resolveHost(router: Router, host: Host): ReturnType<Resolve> {
  const found = await router.addresses(host)
  if (found.kind === 'addresses') return { addresses: found.addresses.map(({ address }) => address), trouble: null }
  return { addresses: [], trouble: { text: found.text, isCertain: found.kind !== 'unknown' } }
}
