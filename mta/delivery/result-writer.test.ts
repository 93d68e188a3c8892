import { assert } from 'chai'
import type { Outcome } from '#src/messages/outcome.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import type { Queryable } from '#src/stores/db.ts'
import { ACCEPTED, attemptOf, claimedOf, silentContext } from '#test/support/delivery.ts'
import { createResultWriter, type DeliveryResult, type ResultWriter, type WriterContext } from './result-writer.ts'

const DEFERRED: Outcome = {
  kind: 'deferred',
  scope: 'recipient',
  reason: 'greylisted',
  detail: '450 4.2.0 greylisted',
  reply: { code: 450, enhanced: '4.2.0', text: 'greylisted', lines: [] },
  isCounted: true,
}
const AWAY = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const REFUSED = Object.assign(new Error('invalid byte sequence for encoding "UTF8"'), { code: '22021' })

interface World {
  readonly writer: ResultWriter
  /** The number of results of each statement. */
  readonly statements: number[]
  /** Recipients that went back on the schedule. */
  readonly scheduled: unknown[]
}

/** The position of the conversations among the parameters of the statement. */
const CONVERSATIONS = 30

/** A parameter of the type text[], in PostgreSQL's binary format or as a list. */
function readArray(value: unknown): unknown[] {
  if (!Buffer.isBuffer(value)) return value as unknown[]
  const HEADER = 20
  const count = value.length < HEADER ? 0 : value.readInt32BE(12)
  let at = HEADER
  return Array.from({ length: count }, () => {
    const length = Math.max(0, value.readInt32BE(at))
    const text = value.toString('utf8', at + 4, at + 4 + length)
    at += 4 + length
    return text
  })
}

/** `answer` gets the number of the statement and its size. It throws, or returns how many results moved. */
function writerWith(answer: (statement: number, conversations: readonly unknown[]) => number): World {
  const ctx = silentContext()
  const [statements, scheduled]: [number[], unknown[]] = [[], []]
  const db: Queryable = {
    query: <R extends object>(_: unknown, values: readonly unknown[] = []) => {
      if (values.length <= CONVERSATIONS) return Promise.resolve({ rows: [], rowCount: 0 })
      const conversations = readArray(values[CONVERSATIONS])
      statements.push(conversations.length)
      const moved = answer(statements.length, conversations)
      const done = Array.from({ length: moved }, (__, i) => i + 1)
      return Promise.resolve({ rows: [{ done, deliveries: 0, workspaces: [] }] as unknown as R[], rowCount: 1 })
    },
  }
  const pipeline = {
    zadd: (_: string, ...members: unknown[]) => scheduled.push(members[1]),
    publish: () => 0,
    exec: () => Promise.resolve([]),
  }
  const parts = { ...ctx, db, redis: { pipeline: () => pipeline } }
  return { writer: createResultWriter(parts as unknown as WriterContext), statements, scheduled }
}

function resultOf(outcome: Outcome = ACCEPTED, conversation = ''): DeliveryResult {
  const claimed = claimedOf({ expiresAt: null })
  const transition = transitionFor(claimed, attemptOf(outcome, { conversation }), {
    scale: 1,
    lifetimeSeconds: null,
    nowMs: claimed.beganAt.getTime(),
  })
  return { claimed, transition }
}

describe('result writer', () => {
  it('writes the results of a busy moment in one statement', async () => {
    const { writer, statements } = writerWith((_, { length }) => length)
    const isMoved = await Promise.all([resultOf(), resultOf(), resultOf()].map((one) => writer.write(one)))
    assert.deepEqual([isMoved, statements], [[true, true, true], [3]])
    await writer.drain()
  })
  it('puts a deferred recipient back on the schedule after the commit', async () => {
    const { writer, scheduled } = writerWith((_, { length }) => length)
    await writer.write(resultOf(DEFERRED))
    await writer.write(resultOf(ACCEPTED))
    assert.strictEqual(scheduled.length, 1)
    await writer.drain()
  })
  it('reports a recipient whose lease was lost, and does not schedule it', async () => {
    const { writer, scheduled } = writerWith(() => 0)
    assert.strictEqual(await writer.write(resultOf(DEFERRED)), false)
    assert.strictEqual(scheduled.length, 0)
    await writer.drain()
  })
  it('retries a result until PostgreSQL is back', async () => {
    const { writer, statements } = writerWith((statement, { length }) => {
      if (statement < 3) throw AWAY
      return length
    })
    assert.strictEqual(await writer.write(resultOf()), true)
    assert.strictEqual(statements.length, 3)
    await writer.drain()
  })
  it('schedules a whole batch whose reply was lost: one too many does no harm', async () => {
    const { writer, scheduled } = writerWith((statement) => {
      if (statement === 1) throw AWAY
      return 0
    })
    await Promise.all([writer.write(resultOf(DEFERRED)), writer.write(resultOf(DEFERRED))])
    assert.strictEqual(scheduled.length, 1, 'in one command')
    await writer.drain()
  })
  it('a refused conversation does not delay other results, and its outcome is stored without it', async () => {
    const { writer, statements } = writerWith((_, conversations) => {
      if (conversations.some((text) => String(text).includes('poison'))) throw REFUSED
      return conversations.length
    })
    const batch = [resultOf(), resultOf(ACCEPTED, 'poison'), resultOf(), resultOf()]
    assert.deepEqual(await Promise.all(batch.map((one) => writer.write(one))), [true, true, true, true])
    assert.ok(statements.length > 2)
    await writer.drain()
  })
  it('rejects a result that PostgreSQL refuses in every form', async () => {
    const { writer } = writerWith(() => {
      throw REFUSED
    })
    await assert.isRejected(writer.write(resultOf()), /invalid byte sequence/)
    await writer.drain()
  })
})
