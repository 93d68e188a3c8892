import { assert } from 'chai'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { countOffences } from '#bench/harness/contender.ts'
import type { Sizes } from '#bench/harness/options.ts'
import { createSink } from '#bench/harness/sink.ts'
import { runBacklog } from './backlog.ts'
import { at, runDepth } from './depth.ts'
import { latencies, runLatency } from './latency.ts'
import { type Faults, type StandIn, startStandIn } from './stand-in.ts'

const SIZES: Sizes = {
  repeats: 1,
  messages: 40,
  referenceMessages: 10,
  warmUp: 5,
  probes: 6,
  backlog: 400,
  backlogProbes: 4,
  shallow: 10,
  shallowRounds: 2,
  deep: 100,
  deepWarmUp: 10,
  window: 20,
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
}

describe('the scenarios', () => {
  let standIn: StandIn
  let bench: MailsteadBench
  const open = async (faults: Faults): Promise<void> => {
    const receivers = await Promise.all(
      [createSink(), createSink()].map(async (sink) => {
        const port = await sink.listen()
        return { sink: { ...sink, pid: process.pid, end: () => sink.close() }, port }
      }),
    )
    const [receiver, otherReceiver] = receivers
    assert.ok(receiver && otherReceiver)
    standIn = await startStandIn(faults)
    bench = { sizes: SIZES, receiver, otherReceiver, references: [], mailstead: standIn, say: () => {} }
  }
  afterEach(async () => {
    await standIn.close()
    await bench.receiver.sink.end()
    await bench.otherReceiver.sink.end()
  })

  it('latency: every probe is timed', async () => {
    await open({})
    const { fromAccept, fromPost, offences } = await runLatency(bench)
    assert.deepEqual(offences, [])
    assert.deepEqual([fromAccept.count, fromPost.count], [6, 6])
    assert.ok(fromPost.p50Ms > 0 && fromPost.p99Ms < 5000)
  })

  it('backlog: bulk is queued first, all of both sites arrive', async () => {
    await open({})
    const { phases, offences, queued } = await runBacklog(bench)
    assert.deepEqual(offences, [])
    assert.strictEqual(queued, 400)
    assert.deepEqual(
      phases.map(({ sameSite, otherSite }) => [sameSite.count, otherSite.count]),
      [
        [4, 4],
        [4, 4],
      ],
    )
  })

  it('backlog: a second copy is an offence', async () => {
    await open({ double: 17 })
    const { offences } = await runBacklog(bench)
    assert.deepEqual(offences, ['backlog: 1 of 408 messages delivered twice'])
  })

  it('depth: both queues are drained and looked at', async () => {
    await open({})
    const { shallow, deepFirst, deepLast, parts, offences } = await runDepth(bench)
    assert.deepEqual(offences, [])
    assert.deepEqual([shallow.messages, parts.length], [20, 10])
    assert.deepEqual([deepFirst.queued, deepLast.queued], [100, 30])
  })
})

describe('latencies', () => {
  it('are differences, and leave out what did not arrive', () => {
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

describe('the marks of a drain', () => {
  const mark = (done: number, when: number, mta: number) => ({ done, at: when, cpuMs: { mta, redis: 5 } })
  const marks = [mark(0, 1000, 10), mark(100, 2000, 110), mark(100, 2050, 110), mark(200, 2500, 200)]
  for (const [done, expected] of [
    [50, mark(50, 1500, 60)],
    [100, mark(100, 2000, 110)],
    [150, mark(150, 2275, 155)],
    [999, mark(200, 2500, 200)],
  ] as const) {
    it(`at ${done}`, () => assert.deepEqual(at(marks, done), expected))
  }
})

describe('offences of a ledger', () => {
  const good = { distinct: 10, doubled: 0, strays: 0, mixedUp: 0, unsigned: 0, firstAt: 0, lastAt: 0 }
  for (const [change, expected] of [
    [{}, []],
    [{ distinct: 8 }, ['2 of 10 messages lost']],
    [{ doubled: 3 }, ['3 of 10 messages delivered twice']],
    [{ strays: 1 }, ['1 of 10 messages not expected']],
    [{ mixedUp: 1 }, ['1 of 10 messages with the body of another']],
    [{ unsigned: 10 }, ['10 of 10 messages not signed']],
  ] as const) {
    it(JSON.stringify(change), () => assert.deepEqual(countOffences({ count: 10 }, { ...good, ...change }), expected))
  }
})
