/**
 * Who runs the zone of a domain and who registered it: looked up by the worker soon after it was added and then once a month, never while
 * somebody waits. What cannot be reached stays as it was, null at first. Names that no registry gives out (test, internal ones) are not
 * asked for, nor is anything in sandbox mode.
 */
import { parse } from 'tldts'
import type { Context } from '#src/context.ts'
import type { Outgoing } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { providerOf } from './dns-provider.ts'
import type { DomainDns } from './dns.ts'
import { findRegistrar } from './rdap.ts'

const DAY_MS = 24 * 60 * 60_000
const MONTH_MS = 30 * DAY_MS

interface Means {
  readonly dns: DomainDns
  readonly outgoing: Pick<Outgoing, 'get'>
}

interface Named {
  readonly id: string
  readonly domain: string
}

/** Looks up and stores; the domain may be gone by then. */
export async function updateRegistration(
  ctx: Pick<Context, 'db' | 'clock' | 'config'>,
  means: Means,
  domain: Named,
): Promise<void> {
  const { isIcann, domain: registrable } = parse(domain.domain)
  const provider = await findProvider(means.dns, domain.domain, registrable ?? domain.domain)
  const { rdapUrl, isSandbox } = ctx.config
  const isAsked = isIcann === true && registrable !== null && rdapUrl !== null && !isSandbox
  const registrar = isAsked ? await findRegistrar(means.outgoing, rdapUrl, registrable) : null
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

/** The zone may begin at the domain or at a name above it, up to the one that was registered. */
async function findProvider(dns: DomainDns, domain: string, registrable: string): Promise<string | null> {
  for (let name = domain; ; name = name.slice(name.indexOf('.') + 1)) {
    const answer = await dns.ns(name)
    if (answer.kind === 'answered' && answer.records.length > 0) return providerOf(answer.records)
    if (name.length <= registrable.length || !name.includes('.')) return null
  }
}
