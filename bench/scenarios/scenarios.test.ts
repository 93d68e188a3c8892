import { assert } from 'chai'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { countViolations } from '#bench/harness/contender.ts'
import type { BenchSizes } from '#bench/harness/options.ts'
import { createSink } from '#bench/harness/sink.ts'
import { certificateFor } from '#test/support/certificate.ts'
import { runBacklog } from './backlog.ts'
import { runCores } from './cores.ts'
import { interpolate, runDepth } from './depth.ts'
import { latencies, runLatency } from './latency.ts'
import { type StandInFaults, type StandInMailstead, startStandIn } from './stand-in.ts'
import { runSubmission } from './submission.ts'

const SIZES: BenchSizes = {
  repeats: 1,
  messages: 40,
  referenceMessages: 10,
  trialMessages: 5,
  warmUp: 5,
  submissions: 6,
  submissionWarmUp: 2,
  probes: 6,
  backlog: 400,
  backlogProbes: 4,
  shallow: 10,
  shallowRounds: 2,
  deep: 100,
  deepWarmUp: 10,
  window: 20,
  coresMessages: 20,
  apiRequests: 20,
  apiWarmUp: 5,
  apiContacts: 3,
  importRows: 10,
  members: 10,
  pages: 2,
  tarpits: 2,
  deadSites: 1,
  tarpitBacklog: 6,
  tarpitProbes: 6,
  campaignContacts: 10,
  campaignMails: 5,
  automationSteps: 10,
  automationProbes: 2,
  trackedMails: 2,
  trackedRequests: 4,
  streams: 2,
  streamChanges: 2,
}

describe('the scenarios', () => {
  let standIn: StandInMailstead
  let bench: MailsteadBench
  const open = async (faults: StandInFaults): Promise<void> => {
    const receivers = await Promise.all(
      [createSink(), createSink()].map(async (sink) => {
        const port = await sink.listen()
        return { sink: { ...sink, pid: process.pid, end: () => sink.close() }, port }
      }),
    )
    const [receiver, otherReceiver] = receivers
    assert.ok(receiver && otherReceiver)
    standIn = await startStandIn(faults, await certificateFor(['localhost']))
    bench = { mix: 'text', sizes: SIZES, receiver, otherReceiver, references: [], mailstead: standIn, say: () => {} }
  }
  afterEach(async () => {
    await standIn.close()
    await bench.receiver.sink.end()
    await bench.otherReceiver.sink.end()
  })

  it('submission: accepts mail in each way, and all of it is delivered afterwards', async () => {
    await open({})
    const { rows, violations } = await runSubmission(bench)
    assert.deepEqual(violations, [])
    assert.deepEqual(
      rows.map(({ name }) => name),
      [
        'one a connection',
        'one a connection, AUTH',
        'one a connection, STARTTLS',
        'one a connection, STARTTLS, AUTH',
        '100 a connection',
        '100 a connection, AUTH',
        '100 a connection, STARTTLS',
        '100 a connection, STARTTLS, AUTH',
      ],
    )
    assert.ok(rows.every(({ runs }) => runs.length === 1 && runs.every(({ rate }) => rate > 0)))
    const ways = standIn.transactions.map(({ isTls, isLoggedIn }) => `${isTls} ${isLoggedIn}`)
    assert.sameMembers([...new Set(ways)], ['false false', 'false true', 'true false', 'true true'])
  })

  it('submission: a second copy is a violation', async () => {
    await open({ duplicate: 17 })
    const { violations } = await runSubmission(bench)
    assert.deepEqual(violations, ['submission: 1 of 64 messages delivered twice'])
  })

  it('latency: times every probe', async () => {
    await open({})
    const { fromAccept, fromPost, violations } = await runLatency(bench)
    assert.deepEqual(violations, [])
    assert.deepEqual([fromAccept.count, fromPost.count], [6, 6])
    assert.ok(fromPost.p50Ms > 0 && fromPost.p99Ms < 5000)
  })

  it('backlog: bulk mail is queued first, and the mail of both sites arrives', async () => {
    await open({})
    const { phases, violations, queued } = await runBacklog(bench)
    assert.deepEqual(violations, [])
    assert.strictEqual(queued, 400)
    assert.deepEqual(
      phases.map(({ sameSite, otherSite }) => [sameSite.count, otherSite.count]),
      [
        [4, 4],
        [4, 4],
      ],
    )
  })

  it('backlog: a second copy is a violation', async () => {
    await open({ duplicate: 17 })
    const { violations } = await runBacklog(bench)
    assert.deepEqual(violations, ['backlog: 1 of 408 messages delivered twice'])
  })

  it('cores: each number of outbound processes sends its messages', async () => {
    await open({})
    const { runs, violations } = await runCores(bench, 2)
    assert.deepEqual(violations, [])
    assert.deepEqual(
      runs.map(({ processes, hasOwnCores }) => [processes, hasOwnCores]),
      [
        [1, true],
        [2, true],
        [1, false],
        [2, false],
        [4, false],
        [16, false],
      ],
    )
    assert.ok(runs.every(({ rate }) => rate > 0))
  })

  it('cores: a second copy is a violation', async () => {
    await open({ duplicate: 8 })
    const { violations } = await runCores(bench, 2)
    assert.deepEqual(violations, ['cores: 1 of 20 messages delivered twice'])
  })

  it('depth: drains and measures both queues', async () => {
    await open({})
    const { shallow, deepFirst, deepLast, parts, violations } = await runDepth(bench)
    assert.deepEqual(violations, [])
    assert.deepEqual([shallow.messages, parts.length], [20, 10])
    assert.deepEqual([deepFirst.queued, deepLast.queued], [100, 30])
  })
})

describe('latencies', () => {
  it('are the time from send to arrival; mail that did not arrive is left out', () => {
    const probe = (number: number, sentAt: number) => ({ number, sentAt, acceptedAt: sentAt + 2 })
    const { fromAccept, fromPost } = latencies(
      [probe(7, 100), probe(8, 200), probe(9, 300)],
      Float64Array.of(105, 0, 309),
      7,
    )
    assert.deepEqual(fromAccept, { count: 2, p50Ms: 3, p99Ms: 7, maxMs: 7 })
    assert.strictEqual(fromPost.maxMs, 9)
  })

  it('are infinite when nothing arrived', () => {
    assert.strictEqual(
      latencies([{ number: 1, sentAt: 1, acceptedAt: 2 }], Float64Array.of(0), 1).fromAccept.p99Ms,
      Infinity,
    )
  })
})

describe('the samples of a drain', () => {
  const sample = (done: number, when: number, mta: number) => ({ done, at: when, cpuMs: { mta, redis: 5 } })
  const samples = [sample(0, 1000, 10), sample(100, 2000, 110), sample(100, 2050, 110), sample(200, 2500, 200)]
  for (const [done, expected] of [
    [50, sample(50, 1500, 60)],
    [100, sample(100, 2000, 110)],
    [150, sample(150, 2275, 155)],
    [999, sample(200, 2500, 200)],
  ] as const) {
    it(`at ${done}`, () => assert.deepEqual(interpolate(samples, done), expected))
  }
})

describe('violations of a ledger', () => {
  const good = { distinct: 10, duplicates: 0, unexpected: 0, wrongBody: 0, unsigned: 0, firstAt: 0, lastAt: 0 }
  for (const [change, expected] of [
    [{}, []],
    [{ distinct: 8 }, ['2 of 10 messages lost']],
    [{ duplicates: 3 }, ['3 of 10 messages delivered twice']],
    [{ unexpected: 1 }, ['1 of 10 messages not expected']],
    [{ wrongBody: 1 }, ["1 of 10 messages with another message's body"]],
    [{ unsigned: 10 }, ['10 of 10 messages not signed']],
  ] as const) {
    it(JSON.stringify(change), () => assert.deepEqual(countViolations({ count: 10 }, { ...good, ...change }), expected))
  }
})
