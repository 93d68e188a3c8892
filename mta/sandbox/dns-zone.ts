/**
 * The DNS zone of the sandbox. Every domain has the built-in receiver as its MX. The DKIM keys of this system are
 * published, so DKIM results are real. A few domains under mailstead.test simulate failures of DNS and hosts;
 * `docs/guides/sandbox.md` lists them, and a test compares both. While PostgreSQL is unavailable, key queries return
 * SERVFAIL.
 */
import type { Answer, DecodedPacket, Packet, RecordType } from 'dns-packet'
import { isDatabaseAway, prepared, type Queryable } from '#src/stores/db.ts'
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

/** Creates a responder that is authoritative for all names. */
export function createZone(db: Queryable): Responder {
  return async (query) => {
    const [question] = query.questions ?? []
    const name = question?.name.toLowerCase() ?? ''
    const key = /^(.+)\._domainkey\.(.+)$/.exec(name)
    if (key === null) return answerName(query, name, question?.type ?? 'A')
    if (question?.type !== 'TXT') return answerTo(query, 'NOERROR')
    return answerKey(query, name, await findKey(db, key[2] ?? '', key[1] ?? ''))
  }
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

type DkimKeyLookup =
  | { readonly kind: 'key'; readonly text: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'unavailable' }

async function findKey(db: Queryable, domain: string, selector: string): Promise<DkimKeyLookup> {
  try {
    const {
      rows: [row],
    } = await db.query<{ dns_value: string }>(SELECT_DKIM_KEY, [domain, selector])
    return row === undefined ? { kind: 'none' } : { kind: 'key', text: row.dns_value }
  } catch (error) {
    if (isDatabaseAway(error)) return { kind: 'unavailable' }
    throw error
  }
}

function answerKey(query: DecodedPacket, name: string, key: DkimKeyLookup): Packet {
  if (key.kind === 'unavailable') return answerTo(query, 'SERVFAIL')
  if (key.kind === 'none') return answerTo(query, 'NXDOMAIN')
  // RFC 1035 3.3.14: a TXT record has strings of at most 255 bytes; verifiers join them (RFC 6376 3.6.2.2)
  const answer: Answer = { name, type: 'TXT', ttl: TTL_SECONDS, data: key.text.match(/.{1,255}/gs) ?? [''] }
  return answerTo(query, 'NOERROR', [answer])
}
