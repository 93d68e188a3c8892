/**
 * The REST API beside the bare stack (`references/bare.ts`): the same requests from the same load generator over as many connections, the
 * two taking turns, round by round. Durable accepts are measured without an outbound process, so that they are all that is measured; then
 * everything accepted is sent, for a message that was accepted and does not arrive, once, is an offence; and accepting is measured again
 * meanwhile. The bare server answers what ours answered, so that both write as much.
 */
import { Trouble } from '#bin/supervisor/user-error.ts'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { arrive, costs, countOffences, watchForeign } from '#bench/harness/contender.ts'
import { type Groups, readUsage } from '#bench/harness/cpu.ts'
import { SENDER } from '#bench/harness/dkim.ts'
import type { PostResult } from '#bench/harness/load.ts'
import { CONNECTIONS, pathOf } from '#bench/harness/mailstead.ts'
import { type Remote, startRemote } from '#bench/harness/remote.ts'
import { call } from '#bench/harness/api-call.ts'
import { SITE } from '#bench/harness/smtp-load.ts'

/** One round of one of the two. */
export interface ApiRun {
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU milliseconds a request: `server` is the api or the bare process; stores and load generator beside it. */
  readonly cpuMs: Readonly<Record<string, number>>
  readonly foreignShare: number
}

export interface ApiWork {
  readonly name: string
  readonly ours: readonly ApiRun[]
  readonly bare: readonly ApiRun[]
}

export interface ApiResult {
  readonly works: readonly ApiWork[]
  readonly offences: readonly string[]
}

/** Rounds of each kind in a repeat. */
const ROUNDS = 2
const AUDIENCES = 20
const PUBLIC = '/api/v1/public'

/** Asks for so many, of ours or of the bare server. */
interface Work {
  readonly name: string
  readonly ours: (count: number) => Promise<PostResult>
  readonly bare: (count: number) => Promise<PostResult>
}

interface Bare {
  readonly process: Remote<'bare'>
  port: number
}

export async function runApi(bench: MailsteadBench): Promise<ApiResult> {
  const { mailstead, sizes } = bench
  const bare: Bare = { process: await startRemote('bare'), port: 0 }
  const from = mailstead.reserve(0)
  try {
    await mailstead.start(['api'], {})
    const works = [acceptWork(bench, bare, 'accept'), ...(await readWorks(bench, bare))]
    await warmUp(bench, bare, works)
    const measured = await measureAll(bench, bare, works)
    const coming = sizes.repeats * ROUNDS * sizes.apiRequests
    const expected = { from, count: mailstead.reserve(0) - from + coming, isOwnLetter: true }
    await bench.receiver.sink.begin(expected)
    await mailstead.start(['mta', 'worker'], { '*': bench.receiver.port })
    const meanwhile = await measureAll(bench, bare, [acceptWork(bench, bare, 'accept while sending')])
    await arrive(bench.receiver.sink, expected.count)
    const offences = countOffences(expected, await bench.receiver.sink.finish()).map((offence) => `api: ${offence}`)
    return { works: [...measured, ...meanwhile], offences }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
    await bare.process.end()
  }
}

/** Round by round, ours to the bare stack's beside it. */
export function ratesToBare({ ours, bare }: ApiWork): number[] {
  return ours.map(({ rate }, round) => rate / (bare[round]?.rate ?? Number.NaN))
}

function acceptWork({ mailstead }: MailsteadBench, bare: Bare, name: string): Work {
  const batch = { path: pathOf('instant'), sender: SENDER, site: SITE, from: 1 }
  return {
    name,
    ours: (count) => mailstead.post('instant', mailstead.reserve(count), count),
    bare: (count) =>
      mailstead.load.post({ ...batch, target: { port: bare.port, key: mailstead.admin.key }, count }, CONNECTIONS),
  }
}

/** Makes what is read. */
async function readWorks(bench: MailsteadBench, bare: Bare): Promise<Work[]> {
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
  const readOf = (name: string, paths: readonly string[]): Work => ({
    name,
    ours: (count) => load.get({ target: { port, key: admin.key }, paths, count }, CONNECTIONS),
    bare: (count) => load.get({ target: { port: bare.port, key: admin.key }, paths, count }, CONNECTIONS),
  })
  return [
    readOf(
      'get-contact',
      contacts.map(({ id }) => `${PUBLIC}/contacts/get-contact?id=${id}`),
    ),
    readOf('get-audiences', [`${PUBLIC}/audiences/get-audiences`]),
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

/** The server's paths of the samples that ours gives, whatever their order is. */
const PATHS: Readonly<Record<string, string>> = {
  accept: pathOf('instant'),
  'get-contact': `${PUBLIC}/contacts/get-contact`,
  'get-audiences': `${PUBLIC}/audiences/get-audiences`,
}

/** Ours first: what it answers is what the bare server will answer. */
async function warmUp({ sizes: { apiWarmUp } }: MailsteadBench, bare: Bare, works: readonly Work[]): Promise<void> {
  const samples: [string, object][] = []
  for (const { name, ours } of works) {
    samples.push([PATHS[name] ?? '', JSON.parse(answered(await ours(apiWarmUp), apiWarmUp).sample) as object])
  }
  bare.port = await bare.process.listen(Object.fromEntries(samples))
  for (const work of works) answered(await work.bare(apiWarmUp), apiWarmUp)
}

async function measureAll(bench: MailsteadBench, bare: Bare, works: readonly Work[]): Promise<ApiWork[]> {
  const {
    mailstead,
    sizes: { repeats, apiRequests },
  } = bench
  const results = works.map(({ name }) => ({ name, ours: [] as ApiRun[], bare: [] as ApiRun[] }))
  for (let round = 0; round < repeats * ROUNDS; round++) {
    for (const [index, work] of works.entries()) {
      const theirs = await measure({ server: bare.process.pid, load: mailstead.load.pid }, apiRequests, work.bare)
      const { api = 0, ...others } = mailstead.groups()
      const own = await measure({ server: api, ...others, load: mailstead.load.pid }, apiRequests, work.ours)
      results[index]?.bare.push(theirs)
      results[index]?.ours.push(own)
      const [a, b, ratio] = [own.rate.toFixed(0), theirs.rate.toFixed(0), (own.rate / theirs.rate).toFixed(3)]
      bench.say(`  ${round + 1} of ${repeats * ROUNDS}, ${work.name}: ${a} a second, bare ${b}, ratio ${ratio}`)
    }
  }
  return results
}

async function measure(groups: Groups, count: number, ask: (count: number) => Promise<PostResult>): Promise<ApiRun> {
  const before = readUsage(groups)
  const foreign = watchForeign(groups)
  const { startedAt, endedAt, p50Ms, p99Ms } = answered(await ask(count), count)
  const cpuMs = costs(before, readUsage(groups), count)
  return { rate: (count * 1000) / (endedAt - startedAt), p50Ms, p99Ms, cpuMs, foreignShare: foreign(0) }
}

/** @throws Trouble when a request was refused: refusals are cheaper than answers. */
function answered(result: PostResult, count: number): PostResult {
  if (result.accepted < count)
    throw new Trouble(`${count - result.accepted} of ${count} requests were refused: ${result.refusal}`)
  return result
}
