/**
 * The REST API compared with the bare stack (`harness/bare-server.ts`): the same requests from the same load generator
 * over the same number of connections, in turn, round by round. Durable accepts are measured without an outbound
 * process. Then all accepted mail is sent, and accepting is measured again at the same time. An accepted message that
 * does not arrive exactly once is a violation. The bare server returns samples of Mailstead's responses, so that both
 * write the same amount.
 */
import { UserError } from '#bin/supervisor/user-error.ts'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { waitForArrivals, cpuPerMessage, countViolations, watchOtherProcesses } from '#bench/harness/contender.ts'
import { type ProcessGroups, readUsage } from '#bench/harness/cpu.ts'
import { SENDER } from '#bench/harness/dkim.ts'
import type { PostResult } from '#bench/harness/load.ts'
import { CONNECTIONS, sendPath } from '#bench/harness/mailstead.ts'
import { type Remote, startRemote } from '#bench/harness/remote.ts'
import { call } from '#bench/harness/api-call.ts'
import { SITE } from '#bench/harness/smtp-load.ts'

/** One round of Mailstead or of the bare stack. */
export interface ApiRun {
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU milliseconds a request: `server` is the api or the bare process; the others are the stores and the load. */
  readonly cpuMs: Readonly<Record<string, number>>
  readonly otherCpuShare: number
}

export interface ApiComparison {
  readonly name: string
  readonly ours: readonly ApiRun[]
  readonly bare: readonly ApiRun[]
}

export interface ApiResult {
  readonly comparisons: readonly ApiComparison[]
  readonly violations: readonly string[]
}

/** Rounds of each kind in a repeat. */
const ROUNDS = 2
const AUDIENCES = 20
const PUBLIC = '/api/v1/public'

/** Sends `count` requests of one kind to Mailstead (`ours`) or to the bare server. */
interface ApiRequestKind {
  readonly name: string
  readonly ours: (count: number) => Promise<PostResult>
  readonly bare: (count: number) => Promise<PostResult>
}

interface BareServer {
  readonly process: Remote<'bare'>
  port: number
}

export async function runApi(bench: MailsteadBench): Promise<ApiResult> {
  const { mailstead, sizes } = bench
  const bare: BareServer = { process: await startRemote('bare'), port: 0 }
  const from = mailstead.reserve(0)
  try {
    await mailstead.start(['api'], {})
    const kinds = [acceptKind(bench, bare, 'accept'), ...(await readKinds(bench, bare))]
    await warmUp(bench, bare, kinds)
    const measured = await measureAll(bench, bare, kinds)
    const remaining = sizes.repeats * ROUNDS * sizes.apiRequests
    const expected = { from, count: mailstead.reserve(0) - from + remaining, hasNumberedBody: true }
    await bench.receiver.sink.begin(expected)
    await mailstead.start(['mta', 'worker'], { '*': bench.receiver.port })
    const whileSending = await measureAll(bench, bare, [acceptKind(bench, bare, 'accept while sending')])
    await waitForArrivals(bench.receiver.sink, expected.count)
    const violations = countViolations(expected, await bench.receiver.sink.finish()).map(
      (violation) => `api: ${violation}`,
    )
    return { comparisons: [...measured, ...whileSending], violations }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
    await bare.process.end()
  }
}

/** Mailstead's rate divided by the bare stack's, for each round. */
export function bareRatios({ ours, bare }: ApiComparison): number[] {
  return ours.map(({ rate }, round) => rate / (bare[round]?.rate ?? Number.NaN))
}

function acceptKind({ mailstead }: MailsteadBench, bare: BareServer, name: string): ApiRequestKind {
  const batch = { path: sendPath('instant'), sender: SENDER, site: SITE, from: 1 }
  return {
    name,
    ours: (count) => mailstead.post('instant', { from: mailstead.reserve(count), count }),
    bare: (count) =>
      mailstead.load.post({ ...batch, target: { port: bare.port, key: mailstead.admin.key }, count }, CONNECTIONS),
  }
}

/** Creates the audiences and contacts that the requests read. */
async function readKinds(bench: MailsteadBench, bare: BareServer): Promise<ApiRequestKind[]> {
  const {
    mailstead: { admin, load },
    sizes,
  } = bench
  const audiences: { id: string }[] = []
  for (let n = 0; n < AUDIENCES; n++) {
    audiences.push(await call(admin, 'POST', '/audiences/add-audience', JSON.stringify({ name: `Readers ${n}` })))
  }
  const contacts: { id: string }[] = []
  for (let n = 0; n < sizes.apiContacts; n++) {
    contacts.push(await call(admin, 'POST', '/contacts/add-contact', contactOf(n, audiences[n % AUDIENCES]?.id ?? '')))
  }
  bench.say(`  ${contacts.length} contacts in ${audiences.length} audiences`)
  const port = Number(new URL(admin.url).port)
  const readKind = (name: string, paths: readonly string[]): ApiRequestKind => ({
    name,
    ours: (count) => load.get({ target: { port, key: admin.key }, paths, count }, CONNECTIONS),
    bare: (count) => load.get({ target: { port: bare.port, key: admin.key }, paths, count }, CONNECTIONS),
  })
  return [
    readKind(
      'get-contact',
      contacts.map(({ id }) => `${PUBLIC}/contacts/get-contact?id=${id}`),
    ),
    readKind('get-audiences', [`${PUBLIC}/audiences/get-audiences`]),
  ]
}

function contactOf(n: number, audienceId: string): string {
  return JSON.stringify({
    email: `reader${n}@mail${n % 50}.example`,
    audience_id: audienceId,
    first_name: `First${n}`,
    last_name: 'Last',
    company_name: 'Company',
    tags: 'lead|q1',
    timezone: 'Europe/Berlin',
    custom_attributes: { plan: 'pro', seats: n },
  })
}

/** The path of each kind of request. */
const PATHS: Readonly<Record<string, string>> = {
  accept: sendPath('instant'),
  'get-contact': `${PUBLIC}/contacts/get-contact`,
  'get-audiences': `${PUBLIC}/audiences/get-audiences`,
}

/** Mailstead is first, because the bare server returns samples of its responses. */
async function warmUp(
  { sizes: { apiWarmUp } }: MailsteadBench,
  bare: BareServer,
  kinds: readonly ApiRequestKind[],
): Promise<void> {
  const samples: [string, object][] = []
  for (const { name, ours } of kinds) {
    samples.push([PATHS[name] ?? '', JSON.parse(assertAccepted(await ours(apiWarmUp), apiWarmUp).sample) as object])
  }
  bare.port = await bare.process.listen(Object.fromEntries(samples))
  for (const kind of kinds) assertAccepted(await kind.bare(apiWarmUp), apiWarmUp)
}

async function measureAll(
  bench: MailsteadBench,
  bare: BareServer,
  kinds: readonly ApiRequestKind[],
): Promise<ApiComparison[]> {
  const {
    mailstead,
    sizes: { repeats, apiRequests },
  } = bench
  const results = kinds.map(({ name }) => ({ name, ours: [] as ApiRun[], bare: [] as ApiRun[] }))
  for (let round = 0; round < repeats * ROUNDS; round++) {
    for (const [index, kind] of kinds.entries()) {
      const theirs = await measure({ server: bare.process.pid, load: mailstead.load.pid }, apiRequests, kind.bare)
      const { api = 0, ...others } = mailstead.groups()
      const own = await measure({ server: api, ...others, load: mailstead.load.pid }, apiRequests, kind.ours)
      results[index]?.bare.push(theirs)
      results[index]?.ours.push(own)
      const [a, b, ratio] = [own.rate.toFixed(0), theirs.rate.toFixed(0), (own.rate / theirs.rate).toFixed(3)]
      bench.say(`  ${round + 1} of ${repeats * ROUNDS}, ${kind.name}: ${a} a second, bare ${b}, ratio ${ratio}`)
    }
  }
  return results
}

async function measure(
  groups: ProcessGroups,
  count: number,
  send: (count: number) => Promise<PostResult>,
): Promise<ApiRun> {
  const before = readUsage(groups)
  const otherShare = watchOtherProcesses(groups)
  const { startedAt, endedAt, p50Ms, p99Ms } = assertAccepted(await send(count), count)
  const cpuMs = cpuPerMessage(before, readUsage(groups), count)
  return { rate: (count * 1000) / (endedAt - startedAt), p50Ms, p99Ms, cpuMs, otherCpuShare: otherShare(0) }
}

/** @throws UserError when a request was refused: refusals cost less than successful responses. */
function assertAccepted(result: PostResult, count: number): PostResult {
  if (result.accepted < count)
    throw UserError.of(`${count - result.accepted} of ${count} requests were refused: ${result.firstError}`)
  return result
}
