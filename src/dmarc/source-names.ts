/**
 * Looks up the names of sources in DMARC reports: PTR, and whether the name has that address (otherwise its owner may
 * have written any name). The newest sources come first, a hundred in a round; a name is looked up again after 30 days,
 * when housekeeping has deleted it. Any number of workers may do the same. An address whose DNS does not answer has no
 * name until then.
 */
import type { DomainDns } from '#src/domains/domain-dns.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const BATCH = 100
/** Concurrent look-ups: a zone that is slow on purpose must not delay all others. */
const CONCURRENT = 20
const MAX_NAME = 255

const UNNAMED = sql`
  SELECT host(source_ip) AS address
  FROM dmarc_sources s
  WHERE NOT EXISTS (SELECT FROM dmarc_source_names n WHERE n.source_ip = s.source_ip)
  GROUP BY source_ip
  ORDER BY max(day) DESC, sum(messages) DESC
  LIMIT ${BATCH}
`
const STORE = sql`
  INSERT INTO dmarc_source_names (source_ip, name, is_confirmed, checked_at)
  SELECT address, name, is_confirmed, $4
  FROM unnest($1::inet[], $2::text[], $3::boolean[]) AS i (address, name, is_confirmed)
  ON CONFLICT DO NOTHING
`

interface NamedSource {
  readonly address: string
  readonly name: string | null
  readonly isConfirmed: boolean
}

type LookUps = Pick<DomainDns, 'ptr' | 'ofFamily'>

/** Returns true if more may be left. */
export async function nameSources(db: Queryable, dns: LookUps, now: Date): Promise<boolean> {
  const { rows } = await db.query<{ address: string }>(UNNAMED)
  if (rows.length === 0) return false
  const named: NamedSource[] = []
  for (let i = 0; i < rows.length; i += CONCURRENT)
    named.push(...(await Promise.all(rows.slice(i, i + CONCURRENT).map(({ address }) => nameSource(dns, address)))))
  const columns = columnsOf(named, [(n) => n.address, (n) => n.name, (n) => n.isConfirmed])
  await db.query(STORE, [...columns, now])
  return rows.length === BATCH
}

async function nameSource(dns: LookUps, address: string): Promise<NamedSource> {
  const answer = await dns.ptr(address)
  const name = answer.kind === 'answered' ? answer.records.find(isHostName) : undefined
  if (name === undefined) return { address, name: null, isConfirmed: false }
  const forward = await dns.ofFamily(name, address.includes(':') ? 6 : 4)
  const isConfirmed = forward.kind === 'answered' && forward.records.some((one) => sameAddress(one, address))
  return { address, name, isConfirmed }
}

function isHostName(name: string): boolean {
  return name.length <= MAX_NAME && /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9])?$/.test(name) && name.includes('.')
}

/** IPv6 has several spellings. */
function sameAddress(one: string, other: string): boolean {
  return canonical(one) === canonical(other)
}

function canonical(address: string): string {
  return address.includes(':') ? new URL(`http://[${address}]`).hostname : address
}
