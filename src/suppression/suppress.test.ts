import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { applyTransitions } from '#src/messages/transition.ts'
import { readMessage } from '#src/messages/read.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { collect } from '#test/support/collect.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { CAUSE_KINDS, type CauseKind, type NewSuppression } from './cause.ts'
import { findSuppressions, listSuppressions, readSuppressions } from './list.ts'
import { suppress, unsuppress } from './suppress.ts'

const ALL = { prefix: null, kind: null, after: null, before: null }

describe('the suppression list', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
  })
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
  })
  after(() => ctx.close())

  const entry = (address: string, kind: CauseKind = 'manual', more: Partial<NewSuppression> = {}): NewSuppression => ({
    workspaceId,
    address,
    kind,
    reason: `because of ${kind}`,
    ...more,
  })
  const now = (): Date => new Date(ctx.clock.now())
  const kindOf = async (address: string): Promise<string | undefined> =>
    (await findSuppressions(ctx.db, workspaceId, [address]))[0]?.kind

  for (const [i, there] of CAUSE_KINDS.entries()) {
    for (const [k, comes] of CAUSE_KINDS.entries()) {
      it(`${comes} ${k < i ? 'replaces' : 'does not replace'} ${there}`, async () => {
        await suppress(ctx.db, [entry('a@b.example', there)], now())
        const done = await suppress(ctx.db, [entry('A@b.example', comes)], now())
        assert.deepEqual(done, { added: 0, strengthened: k < i ? 1 : 0, unchanged: k < i ? 0 : 1 })
        assert.strictEqual(await kindOf('a@B.example'), k < i ? comes : there)
      })
    }
  }

  it('stores the whole cause and the time of the entry', async () => {
    const cause = {
      reply: { code: 550, status: '5.1.1', text: 'no such user' },
      rule: 'no-such-user',
      messageId: '00000000-0000-7000-8000-000000000001',
    }
    await suppress(ctx.db, [entry('Gone@b.example')], new Date(1_000_000))
    await suppress(ctx.db, [entry('gone@b.example', 'hard_bounce', cause)], new Date(2_000_000))
    assert.deepEqual(await findSuppressions(ctx.db, workspaceId, ['GONE@b.example']), [
      {
        address: 'gone@b.example',
        kind: 'hard_bounce',
        cause: 'because of hard_bounce',
        ...cause,
        eventId: null,
        apiKeyId: null,
        createdAt: new Date(1_000_000),
        updatedAt: new Date(2_000_000),
      },
    ])
  })

  it('keeps the strongest of several entries for one address in a batch', async () => {
    const done = await suppress(
      ctx.db,
      [entry('a@b.example'), entry('A@B.example', 'complaint'), entry('a@b.example', 'import')],
      now(),
    )
    assert.deepEqual([done, await kindOf('a@b.example')], [{ added: 1, strengthened: 0, unchanged: 0 }, 'complaint'])
  })

  it('adds each address once when concurrent batches have the same addresses in other orders', async () => {
    const addresses = Array.from({ length: 200 }, (_, i) => `${i}@b.example`)
    const orders = [addresses, addresses.toReversed(), addresses, addresses.toReversed()]
    const done = await Promise.all(
      orders.map((order) =>
        suppress(
          ctx.db,
          order.map((address) => entry(address)),
          now(),
        ),
      ),
    )
    assert.strictEqual(
      done.reduce((sum, { added }) => sum + added, 0),
      200,
    )
  })

  it('is separate for each workspace', async () => {
    const other = await ctx.newWorkspace()
    await suppress(ctx.db, [entry('a@b.example')], now())
    assert.deepEqual(await findSuppressions(ctx.db, other, ['a@b.example']), [])
    assert.deepEqual(await unsuppress(ctx.db, other, [{ address: 'a@b.example', reason: null }]), [])
    assert.deepEqual(
      await unsuppress(
        ctx.db,
        workspaceId,
        ['A@b.example', 'x@y.example'].map((address) => ({ address, reason: null })),
      ),
      ['a@b.example'],
    )
    assert.strictEqual(await kindOf('a@b.example'), undefined)
  })

  it('is searched by prefix, cause and time, newest first, and exported in pages by address', async () => {
    await suppress(ctx.db, [entry('anna@b.example', 'complaint')], new Date(1000))
    await suppress(ctx.db, [entry('bob@b.example')], new Date(2000))
    await suppress(ctx.db, [entry('annika@b.example')], new Date(3000))
    const search = async (filter: object, page = { page: 1, limit: 10 }): Promise<unknown> => {
      const { items: suppressions, total } = await listSuppressions(ctx.db, workspaceId, { ...ALL, ...filter }, page)
      return [total, ...suppressions.map(({ address }) => address.split('@')[0])]
    }
    assert.deepEqual(await search({}), [3, 'annika', 'bob', 'anna'])
    assert.deepEqual(await search({}, { page: 2, limit: 2 }), [3, 'anna'])
    assert.deepEqual(await search({ prefix: 'ANN' }), [2, 'annika', 'anna'])
    assert.deepEqual(await search({ prefix: '%' }), [0])
    assert.deepEqual(await search({ kind: 'complaint' }), [1, 'anna'])
    assert.deepEqual(await search({ after: new Date(2000), before: new Date(3000) }), [1, 'bob'])
    await suppress(
      ctx.db,
      Array.from({ length: 2500 }, (_, i) => entry(`x${i}@b.example`)),
      now(),
    )
    const slices = await collect(readSuppressions(ctx.db, workspaceId, ALL))
    assert.deepEqual(
      slices.map(({ length }) => length),
      [1000, 1000, 503],
    )
    assert.strictEqual(new Set(slices.flat().map(({ address }) => address)).size, 2503)
  })

  describe('an address that was added after the mail was accepted', () => {
    const LEASE = 900
    before(() =>
      ctx.db.query(sql`
        INSERT INTO leases (version, id, machine, pid, expires_at) OVERRIDING SYSTEM VALUE
        VALUES ('0.2.0', ${LEASE}, 'here', 1, now() + interval '1 hour')
      `),
    )

    it('gets no scheduled mail; another recipient does', async () => {
      const scheduledAt = new Date(ctx.clock.now() + 60_000)
      const submission = submissionOf(workspaceId, { recipients: testRecipients(2), scheduledAt })
      await createAcceptor(ctx).accept(submission)
      const [, listed] = submission.recipients
      assert.ok(listed !== undefined)
      await suppress(ctx.db, [entry(listed.address.toUpperCase(), 'hard_bounce')], now())
      const claimed = await claimRecipients(
        ctx.db,
        LEASE,
        [0, 1].map((n) => ({ messageId: submission.id, n })),
        scheduledAt,
      )
      const suppression = { cause: 'because of hard_bounce', kind: 'hard_bounce' }
      assert.deepEqual(
        claimed.toSorted((a, b) => a.n - b.n).map((one) => one.suppression),
        [null, suppression],
      )
      const one = claimed.find(({ n }) => n === 1)
      assert.ok(one !== undefined)
      const outcome = {
        kind: 'suppressed',
        reason: 'suppressed',
        detail: 'it is',
        cause: suppression.cause,
        causeKind: suppression.kind,
      } as const
      const attempt = {
        outcome,
        host: null,
        address: null,
        source: null,
        tls: null,
        startedAt: ctx.clock.now(),
        durationMs: 0,
        conversation: '',
      }
      await applyTransitions(
        ctx.db,
        [transitionFor(one, attempt, { scale: 1, lifetimeSeconds: null, nowMs: ctx.clock.now() })],
        now(),
      )
      const message = await readMessage(ctx.db, workspaceId, submission.id)
      assert.deepEqual(
        message?.recipients.map(({ state }) => state),
        ['sending', 'suppressed'],
      )
      const lastEvent = message?.events.at(-1)
      assert.deepEqual(
        [lastEvent?.type, lastEvent?.recipient, lastEvent?.data],
        ['email.failed', listed.address, { reason: 'suppressed', cause: suppression.cause, cause_kind: 'hard_bounce' }],
      )
    })

    it('gets the mail if it is removed again before sending', async () => {
      const submission = submissionOf(workspaceId, { recipients: testRecipients(1) })
      await createAcceptor(ctx).accept(submission)
      const addresses = submission.recipients.map(({ address }) => address)
      await suppress(
        ctx.db,
        addresses.map((address) => entry(address)),
        now(),
      )
      await unsuppress(
        ctx.db,
        workspaceId,
        addresses.map((address) => ({ address, reason: null })),
      )
      const [claimed] = await claimRecipients(ctx.db, LEASE, [{ messageId: submission.id, n: 0 }], now())
      assert.strictEqual(claimed?.suppression, null)
    })
  })
})
