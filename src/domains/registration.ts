/**
 * Looks up who runs the zone of a domain and who registered it: the worker does so soon after the domain is added and
 * then once a month, never while a request waits. If a lookup fails, the stored value stays (null at first). RDAP is
 * not queried for names that no registry assigns (test, internal names), nor in sandbox mode.
 */
import { parse } from 'tldts'
import type { Context } from '#src/context.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { providerOf } from './dns-provider.ts'
import type { DomainDns } from './domain-dns.ts'
import { findRegistrar } from './rdap.ts'

const DAY_MS = 24 * 60 * 60_000
const MONTH_MS = 30 * DAY_MS

interface RegistrationDeps {
  readonly dns: DomainDns
  readonly outgoing: Pick<HttpClient, 'get'>
}

interface NamedDomain {
  readonly id: string
  readonly domain: string
}

/** Looks up and stores both. The domain may be removed meanwhile. */
export async function updateRegistration(
  ctx: Pick<Context, 'db' | 'clock' | 'config'>,
  deps: RegistrationDeps,
  domain: NamedDomain,
): Promise<void> {
  const { isIcann, domain: registrable } = parse(domain.domain)
  const provider = await findProvider(deps.dns, domain.domain, registrable ?? domain.domain)
  const { rdapUrl, isSandbox } = ctx.config
  const isAsked = isIcann === true && registrable !== null && rdapUrl !== null && !isSandbox
  const registrar = isAsked ? await findRegistrar(deps.outgoing, rdapUrl, registrable) : null
  const now = ctx.clock.now()
  const isDone = registrar !== null || !isAsked
  await ctx.db.query(
    sql`
      UPDATE domains
      SET dns_provider = coalesce($2, dns_provider),
        registrar_name = coalesce($3, registrar_name),
        registrar_iana_id = coalesce($4, registrar_iana_id),
        registrar_last_checked_at = coalesce($5, registrar_last_checked_at),
        registration_due_at = $6
      WHERE id = $1
    `,
    [
      domain.id,
      provider,
      registrar?.name ?? null,
      registrar?.ianaId ?? null,
      isAsked ? new Date(now) : null,
      new Date(now + (isDone ? MONTH_MS : DAY_MS) * (1 + 0.1 * Math.random())),
    ],
  )
}

/** The zone may start at the domain or at any parent, up to the registered one. */
async function findProvider(dns: DomainDns, domain: string, registrable: string): Promise<string | null> {
  for (let name = domain; ; name = name.slice(name.indexOf('.') + 1)) {
    const answer = await dns.ns(name)
    if (answer.kind === 'answered' && answer.records.length > 0) return providerOf(answer.records)
    if (name.length <= registrable.length || !name.includes('.')) return null
  }
}
