/**
 * Authenticates received mail: SPF of the connection, DKIM signatures, DMARC and the ARC chain (mailauth). Mail can ask
 * for many DNS queries, so signatures beyond MAX_SIGNATURES are not verified, and after MAX_QUERIES every further query
 * fails. Never throws: what cannot be checked is `temperror`.
 */
import { authenticate } from 'mailauth'
import { splitMessage } from '#src/mail/split-message.ts'
import type { Authentication, CheckResult, DkimCheck } from '#src/inbound-mail/received-content.ts'
import type { ResolveDns } from './report-signer.ts'

export interface AuthenticatedMail {
  readonly raw: Buffer
  /** Empty: the null sender. */
  readonly mailFrom: string
  readonly peer: string
  readonly helo: string
}

export interface AuthenticationDeps {
  /** The name of this server. */
  readonly serverName: string
  readonly resolve: ResolveDns
}

/** RFC 6376 6.1 permits a limit. */
const MAX_SIGNATURES = 10
const MAX_QUERIES = 100

const UNKNOWN: CheckResult = { result: 'temperror', domain: null }
const NONE: CheckResult = { result: 'none', domain: null }

export async function authenticateMail(
  { raw, mailFrom, peer, helo }: AuthenticatedMail,
  { serverName, resolve }: AuthenticationDeps,
): Promise<Authentication> {
  try {
    const found = await authenticate(withoutExcess(raw), {
      ip: peer,
      helo,
      sender: mailFrom,
      mta: serverName,
      resolver: limitQueries(resolve),
      disableBimi: true,
    })
    return presentResults(found)
  } catch {
    return { spf: UNKNOWN, dkim: [], dmarc: { ...UNKNOWN, policy: null }, arc: UNKNOWN }
  }
}

/** What is read of the result of mailauth. */
interface AuthenticateResult {
  readonly spf?: { readonly domain?: string; readonly status: Status } | false
  readonly dkim?: {
    readonly results: readonly { signingDomain?: string; selector?: string; status: Status }[]
  }
  readonly dmarc?: { readonly domain?: string; readonly p?: string; readonly policy?: string; status: Status } | false
  readonly arc?: { readonly signature?: { readonly signingDomain?: string } | false; readonly status: Status } | false
}

interface Status {
  readonly result: string
  readonly aligned?: string | false
}

function presentResults({ spf, dkim, dmarc, arc }: AuthenticateResult): Authentication {
  return {
    spf: spf ? { result: spf.status.result, domain: textOrNull(spf.domain) } : NONE,
    dkim: (dkim?.results ?? []).filter(({ status }) => status.result !== 'none').map(presentSignature),
    dmarc: dmarc
      ? {
          result: dmarc.status.result,
          domain: textOrNull(dmarc.domain),
          policy: textOrNull(dmarc.policy ?? dmarc.p),
        }
      : { ...NONE, policy: null },
    arc: arc
      ? { result: arc.status.result, domain: textOrNull(arc.signature ? arc.signature.signingDomain : null) }
      : NONE,
  }
}

function presentSignature({
  signingDomain,
  selector,
  status,
}: {
  readonly signingDomain?: string
  readonly selector?: string
  readonly status: Status
}): DkimCheck {
  return {
    result: status.result,
    domain: textOrNull(signingDomain),
    selector: textOrNull(selector),
    is_aligned: typeof status.aligned === 'string' && status.aligned !== '',
  }
}

function textOrNull(text: unknown): string | null {
  return typeof text === 'string' && text !== '' ? text.slice(0, 255) : null
}

/** Without the DKIM signatures beyond the limit: other signatures do not cover them. */
function withoutExcess(raw: Buffer): Buffer {
  const { fields, head, body } = splitMessage(raw)
  let signatures = 0
  const left = fields.filter(({ name }) => name !== 'dkim-signature' || ++signatures <= MAX_SIGNATURES)
  if (left.length === fields.length) return raw
  const lines = left.map(({ line }) => line).join('')
  const separator = head.slice(fields.reduce((sum, { line }) => sum + line.length, 0))
  return Buffer.concat([Buffer.from(lines + separator, 'latin1'), body])
}

function limitQueries(resolve: ResolveDns): never {
  let queries = 0
  const limited: ResolveDns = (name, type) => {
    if (++queries > MAX_QUERIES)
      return Promise.reject(Object.assign(new Error('too many queries'), { code: 'ETIMEOUT' }))
    return resolve(name, type)
  }
  return limited as never
}
