/**
 * Asks SpamAssassin (spamd, SPAMC/1.5) or rspamd (HTTP) to judge a mail. The whole question, with its wait for one of
 * CONCURRENT connections, has a time limit; without a valid answer the verdict is `unknown`, and the mail is processed
 * as without a filter. After a failure the filter is not asked for a while, so one that hangs does not delay every
 * mail. Answers are bounded. Never rejects.
 */
import { request } from 'node:http'
import { connect } from 'node:net'
import type { SpamFilterAddress } from '#config/settings/readers.ts'
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import type { SpamFilterResult } from '#src/inbound-mail/received-content.ts'
import type { Clock } from '#src/platform/clock.ts'

export interface FilteredMail {
  readonly raw: Buffer
  readonly mailFrom: string
  readonly recipient: string
  readonly peer: string
  readonly helo: string
}

export type SpamFilter = (mail: FilteredMail) => Promise<SpamFilterResult>
type Judgement = Omit<SpamFilterResult, 'name'>
type Ask = (address: SpamFilterAddress, mail: FilteredMail, signal: AbortSignal) => Promise<Judgement>

/** spamc has about the same limit. */
const MAX_OCTETS = 512 * 1024
const MAX_ANSWER = 64 * 1024
const MAX_SYMBOLS = 100
const CONCURRENT = 5
const PAUSE_MS = 15_000

const UNKNOWN: Judgement = { verdict: 'unknown', score: null, threshold: null, symbols: [] }
const PROGRAMS = {
  spamd: { name: 'spamassassin', ask: askSpamd },
  rspamd: { name: 'rspamd', ask: askRspamd },
} as const satisfies Record<string, { name: SpamFilterResult['name']; ask: Ask }>

export function createSpamFilter(address: SpamFilterAddress, timeoutMs: number, clock: Pick<Clock, 'now'>): SpamFilter {
  const { name, ask } = PROGRAMS[address.kind]
  const limited = createSemaphore(CONCURRENT)
  let pausedUntil = 0
  return async (mail) => {
    if (mail.raw.length > MAX_OCTETS || clock.now() < pausedUntil) return { name, ...UNKNOWN }
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const judged = await limited(() => (signal.aborted ? Promise.resolve(null) : ask(address, mail, signal)))
      return { name, ...(judged ?? UNKNOWN) }
    } catch {
      pausedUntil = clock.now() + PAUSE_MS
      return { name, ...UNKNOWN }
    }
  }
}

/** The command SYMBOLS: the score, and the names of the rules that matched. */
async function askSpamd(
  { host, port, path }: SpamFilterAddress,
  { raw }: FilteredMail,
  signal: AbortSignal,
): Promise<Judgement> {
  const socket = path === null ? connect({ host, port }) : connect({ path })
  const abort = (): void => void socket.destroy(new Error('the filter did not answer in time'))
  signal.addEventListener('abort', abort, { once: true })
  try {
    const head = `SYMBOLS SPAMC/1.5\r\nContent-length: ${raw.length}\r\n\r\n`
    socket.end(Buffer.concat([Buffer.from(head), raw]))
    return parseSpamd(await readAll(socket, signal))
  } finally {
    signal.removeEventListener('abort', abort)
    socket.destroy()
  }
}

/** @throws if it is no answer of spamd. */
export function parseSpamd(answer: string): Judgement {
  const verdict = /^Spam: (True|False|Yes|No) ; (-?[\d.]+) \/ (-?[\d.]+)/im.exec(answer)
  if (!/^SPAMD\/[\d.]+ 0 /.test(answer) || verdict === null) throw new Error('no valid answer of spamd')
  const [, word = '', score, threshold] = verdict
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  return {
    verdict: /^(?:true|yes)$/i.test(word) ? 'spam' : 'clean',
    score: Number(score),
    threshold: Number(threshold),
    symbols: symbolsOf(body.split(/[,\s]+/)),
  }
}

function askRspamd(address: SpamFilterAddress, mail: FilteredMail, signal: AbortSignal): Promise<Judgement> {
  const { promise, resolve, reject } = Promise.withResolvers<Judgement>()
  const clean = (text: string): string => text.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 320)
  const { host, port } = address
  const headers = {
    'Content-Length': mail.raw.length,
    IP: mail.peer,
    Helo: clean(mail.helo),
    From: clean(mail.mailFrom),
    Rcpt: clean(mail.recipient),
  }
  const call = request({ host, port, path: '/checkv2', method: 'POST', headers, signal }, (response) => {
    readAll(response, signal)
      .then((answer) => resolve(parseRspamd(answer)))
      .catch(reject)
  })
  call.on('error', reject)
  call.end(mail.raw)
  return promise
}

/** Actions that mean spam; `greylist` and `soft reject` ask to try again later, which is too late here. */
const SPAM_ACTIONS: ReadonlySet<unknown> = new Set(['reject', 'add header', 'rewrite subject', 'quarantine'])

/** @throws if it is no answer of rspamd. */
export function parseRspamd(answer: string): Judgement {
  const { action, score, required_score: threshold, symbols } = JSON.parse(answer) as Record<string, unknown>
  if (typeof action !== 'string' || typeof score !== 'number') throw new Error('no valid answer of rspamd')
  return {
    verdict: SPAM_ACTIONS.has(action) ? 'spam' : 'clean',
    score,
    threshold: typeof threshold === 'number' ? threshold : null,
    symbols: symbolsOf(Object.keys(symbols ?? {})),
  }
}

function symbolsOf(names: readonly string[]): string[] {
  return names.filter((name) => /^\w{1,100}$/.test(name)).slice(0, MAX_SYMBOLS)
}

/** @throws when the time is over, or the answer is too long. */
async function readAll(stream: AsyncIterable<Buffer>, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    signal.throwIfAborted()
    size += chunk.length
    if (size > MAX_ANSWER) throw new Error('the answer of the filter is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
