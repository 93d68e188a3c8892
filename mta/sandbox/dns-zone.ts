/**
 * The DNS zone of the sandbox. Every domain has the built-in receiver as its MX. The DKIM keys of this system are
 * published, so DKIM results are real; those of delegated keys by CNAME records to the operator's zone (decision 071).
 * A few domains under mailstead.test simulate failures of DNS and hosts; `docs/guides/sandbox.md` lists them, and a
 * test compares both. While PostgreSQL is unavailable, key queries return SERVFAIL.
 */
import type { Answer, DecodedPacket, Packet, RecordType } from 'dns-packet'
import { isDatabaseAway, prepared, type Queryable, type Statement } from '#src/stores/db.ts'
import { bimiName, bimiRecordValue, type BimiFiles } from '#src/domains/bimi-record.ts'
import { delegatedNames } from '#src/domains/delegated-names.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'
import { sql } from '#src/stores/sql.ts'
import { answerTo, type Rcode, type Responder } from './dns-listener.ts'

const TTL_SECONDS = 60
const MX_DOWN = 'mx-down.mailstead.test'
const MX_TLS_FAIL = 'mx-tls-fail.mailstead.test'

/** Loopback addresses: the receiver, the receiver whose TLS handshake fails, and an address without a listener. */
export const HOSTS = { [SANDBOX_MX]: '127.0.0.1', [MX_TLS_FAIL]: '127.0.0.2', [MX_DOWN]: '127.0.0.3' } as const

interface SimulatedDomain {
  readonly domain: string
  /** One sentence for the documentation: how the domain behaves. */
  readonly description: string
  readonly rcode?: Rcode
  readonly mx?: readonly (readonly [preference: number, exchange: string])[]
  readonly hasAddress?: false
}

export const SIMULATED_DOMAINS: readonly SimulatedDomain[] = [
  {
    domain: 'null-mx.mailstead.test',
    description: 'declares that it accepts no mail (null MX): bounced, 5.1.10.',
    mx: [[0, '.']],
  },
  { domain: 'nxdomain.mailstead.test', description: 'does not exist: bounced, 5.1.2.', rcode: 'NXDOMAIN' },
  {
    domain: 'no-host.mailstead.test',
    description: 'has neither an MX nor an address record: bounced, 5.4.4.',
    mx: [],
    hasAddress: false,
  },
  {
    domain: 'servfail.mailstead.test',
    description: 'has a broken name server: deferred, not counted as an attempt.',
    rcode: 'SERVFAIL',
  },
  {
    domain: 'down.mailstead.test',
    description: 'has one MX, which accepts no connection: deferred.',
    mx: [[10, MX_DOWN]],
  },
  {
    domain: 'next-mx.mailstead.test',
    description: 'has a first MX that accepts no connection, and a second that accepts the mail.',
    mx: [
      [10, MX_DOWN],
      [20, SANDBOX_MX],
    ],
  },
  {
    domain: 'tls-fail.mailstead.test',
    description: 'has an MX that offers STARTTLS and then fails the handshake: delivered without TLS.',
    mx: [[10, MX_TLS_FAIL]],
  },
]

/** The first labels of a name that a delegated selector points to, so that other names cost no query. */
const DELEGATED_TARGET = /^[ab](-ed)?\.[0-9a-f]{16}\./

const DOMAINS_BY_NAME = new Map(SIMULATED_DOMAINS.map((row) => [row.domain, row]))

// if two workspaces claim a domain, the verified one owns it; if none is verified, use the newest key
const SELECT_DKIM_KEY = prepared(
  'sandbox-dkim-key',
  sql`
    SELECT k.dns_value
    FROM dkim_keys k
    JOIN domains d ON d.id = k.domain_id
    WHERE d.domain = $1 AND k.selector = $2
    ORDER BY d.verification_status IN ('verified', 'degraded') DESC, k.created_at DESC
    LIMIT 1
  `,
)

const SELECT_DELEGATED = prepared(
  'sandbox-delegated-domains',
  sql`
    SELECT id, dkim_zone AS "dkimZone"
    FROM domains
    WHERE domain = $1 AND dkim_zone IS NOT NULL
  `,
)

// as published at once: there may be no DKIM_ZONE_COMMAND
const SELECT_ZONE_RECORD = prepared(
  'sandbox-zone-record',
  sql`
    SELECT value AS dns_value
    FROM dkim_zone_records
    WHERE name = $1 AND value IS NOT NULL
  `,
)

// as if its owner published it at once; of several claims the verified one
const SELECT_BIMI = prepared(
  'sandbox-bimi',
  sql`
    SELECT bimi_logo_url AS "logoUrl", bimi_certificate_url AS "certificateUrl"
    FROM domains
    WHERE domain = $1 AND bimi_logo_url IS NOT NULL
    ORDER BY verification_status IN ('verified', 'degraded') DESC, created_at DESC
    LIMIT 1
  `,
)

/** Creates a responder that is authoritative for all names. */
export function createZone(db: Queryable): Responder {
  return async (query) => {
    const [question] = query.questions ?? []
    const name = question?.name.toLowerCase() ?? ''
    const type = question?.type ?? 'A'
    const [, selector, domain = ''] = /^(.+)\._domainkey\.(.+)$/.exec(name) ?? []
    try {
      if (selector !== undefined) return await answerSelector(db, query, { name, type, selector, domain })
      if (type === 'TXT' && name.startsWith(BIMI_LABELS)) return await answerBimi(db, query, name)
      if (type === 'TXT' && DELEGATED_TARGET.test(name))
        return answerKey(query, name, await findText(db, SELECT_ZONE_RECORD, [name]))
    } catch (error) {
      if (isDatabaseAway(error)) return answerTo(query, 'SERVFAIL')
      throw error
    }
    return answerName(query, name, type)
  }
}

interface SelectorQuery {
  readonly name: string
  readonly type: RecordType
  readonly selector: string
  readonly domain: string
}

/** A delegated selector is a CNAME for every type, and with TXT the answer has the key as well (RFC 1034 3.6.2). */
async function answerSelector(db: Queryable, query: DecodedPacket, asked: SelectorQuery): Promise<Packet> {
  const { name, type, selector, domain } = asked
  if (type !== 'TXT' && type !== 'CNAME') return answerTo(query, 'NOERROR')
  const { rows } = await db.query<{ id: string; dkimZone: string }>(SELECT_DELEGATED, [domain])
  const delegated = rows.flatMap(delegatedNames).find((one) => one.selector === selector)
  if (delegated === undefined) {
    if (type === 'CNAME') return answerTo(query, 'NOERROR')
    return answerKey(query, name, await findText(db, SELECT_DKIM_KEY, [domain, selector]))
  }
  const { target } = delegated
  const alias: Answer = { name, type: 'CNAME', ttl: TTL_SECONDS, data: target }
  const text = type === 'TXT' ? await findText(db, SELECT_ZONE_RECORD, [target]) : null
  return answerTo(query, 'NOERROR', text === null ? [alias] : [alias, keyRecord(target, text)])
}

const BIMI_LABELS = bimiName('')

async function answerBimi(db: Queryable, query: DecodedPacket, name: string): Promise<Packet> {
  const {
    rows: [files],
  } = await db.query<BimiFiles>(SELECT_BIMI, [name.slice(BIMI_LABELS.length)])
  return answerKey(query, name, files === undefined ? null : bimiRecordValue(files))
}

function answerName(query: DecodedPacket, name: string, type: RecordType): Packet {
  const row = DOMAINS_BY_NAME.get(name)
  if (row?.rcode !== undefined) return answerTo(query, row.rcode)
  if (type === 'MX')
    return answerTo(
      query,
      'NOERROR',
      (row?.mx ?? [[10, SANDBOX_MX] as const]).map(([preference, exchange]) => ({
        name,
        type,
        ttl: TTL_SECONDS,
        data: { preference, exchange },
      })),
    )
  if (type === 'A' && row?.hasAddress !== false)
    return answerTo(query, 'NOERROR', [{ name, type, ttl: TTL_SECONDS, data: addressOf(name) }])
  return answerTo(query, 'NOERROR')
}

function addressOf(name: string): string {
  return Object.entries(HOSTS).find(([host]) => host === name)?.[1] ?? HOSTS[SANDBOX_MX]
}

async function findText(db: Queryable, statement: Statement, values: readonly string[]): Promise<string | null> {
  const {
    rows: [row],
  } = await db.query<{ dns_value: string }>(statement, [...values])
  return row?.dns_value ?? null
}

function answerKey(query: DecodedPacket, name: string, text: string | null): Packet {
  return text === null ? answerTo(query, 'NXDOMAIN') : answerTo(query, 'NOERROR', [keyRecord(name, text)])
}

/** RFC 1035 3.3.14: a TXT record has strings of at most 255 bytes; verifiers join them (RFC 6376 3.6.2.2). */
function keyRecord(name: string, text: string): Answer {
  return { name, type: 'TXT', ttl: TTL_SECONDS, data: text.match(/.{1,255}/gs) ?? [''] }
}
