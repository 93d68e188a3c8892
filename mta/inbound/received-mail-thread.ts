/**
 * The thread that reads received mail, several at the same time, because most of the time it waits for DNS. Results are
 * posted in the order of the request. It has no secrets and may be killed at any time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { openResolver } from '#src/net/dns-resolver.ts'
import { systemClock } from '#src/platform/clock.ts'
import type { SpamFilterAddress } from '#config/settings/readers.ts'
import type { ParseRequest, ParseResponse } from '#src/platform/parser-thread.ts'
import type { AuthenticatedMail } from './mail-authentication.ts'
import { type ParsedEmail, parseReceivedMail } from './received-mail-parser.ts'
import { createSpamFilter } from './spam-filter.ts'
import type { ResolveDns } from './report-signer.ts'

/** The octets of a Buffer are a Uint8Array in a thread. */
export type MailToParse = Omit<AuthenticatedMail, 'raw'> & { readonly raw: Uint8Array; readonly recipient: string }

/** What the thread is started with. */
export interface ThreadData {
  readonly dnsServers: readonly string[] | null
  readonly serverName: string
  readonly spamFilter: SpamFilterAddress | null
  readonly spamFilterMs: number
}

const DNS_TIMEOUT_MS = 2000
/** Keys and policies of frequent senders. */
const DNS_CACHE = { max: 5000, ttlMs: 60_000 }

// workerData is missing when the module is loaded only to be compiled
const NO_DATA: ThreadData = { dnsServers: null, serverName: '', spamFilter: null, spamFilterMs: 0 }
const { dnsServers, serverName, spamFilter, spamFilterMs } = (workerData ?? NO_DATA) as ThreadData
const filter = spamFilter === null ? null : createSpamFilter(spamFilter, spamFilterMs, systemClock)
const answers = createLoadingCache<unknown>(systemClock, DNS_CACHE)
const resolve: ResolveDns = (name, type) =>
  answers.get(`${type} ${name.toLowerCase()}`, () =>
    openResolver({ servers: dnsServers, timeout: DNS_TIMEOUT_MS, tries: 2 }).resolve(name, type),
  )

async function parse({ raw, ...mail }: MailToParse): Promise<ParsedEmail | null> {
  try {
    const octets = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
    return await parseReceivedMail({ ...mail, raw: octets }, { serverName, resolve, filter })
  } catch {
    return null
  }
}

async function parseAll({ inputs }: ParseRequest<MailToParse>): Promise<void> {
  for (const result of inputs.map(parse))
    parentPort?.postMessage({ results: [await result] } satisfies ParseResponse<ParsedEmail>, [])
}

parentPort?.postMessage({ results: [] } satisfies ParseResponse<ParsedEmail>, [])
parentPort?.on('message', (request: ParseRequest<MailToParse>) => void parseAll(request))
