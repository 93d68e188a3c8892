/** One scenario for each gate: `explain` names the gate that holds a message, with its rule and time. */
import { assert } from 'chai'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

interface Gate {
  readonly gate: string
  readonly holds: boolean
  readonly says: string
  readonly rule: string | null
  readonly until: string | null
}
interface Explained {
  readonly held_by: string | null
  readonly says: string
  readonly until: string | null
  readonly recipients: readonly { readonly gates: readonly Gate[]; readonly next_try_at: string | null }[]
}

const NAMES = ['schedule', 'suppression', 'quota', 'tier', 'site limit', 'suspension', 'backoff', 'DNS', 'egress']

describe('explain', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed({ RETRY_SCALE: '1' })
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  async function explain(id: string): Promise<Explained> {
    const { status, body } = await testbed.system.call('GET', `/public/emails/explain?id=${id}`)
    assert.strictEqual(status, 200)
    return body['data'] as unknown as Explained
  }
  /** Waits until this gate holds the message; all gates are listed, in order. */
  async function heldBy(id: string, gate: string): Promise<Gate & { readonly whole: Explained }> {
    let whole = await explain(id)
    await until(
      async () => (whole = await explain(id)).held_by === gate,
      () => `held_by ${gate}: ${JSON.stringify(whole, null, 1)}`,
    )
    const [recipient] = whole.recipients
    assert.deepEqual(
      recipient?.gates.map((one) => one.gate),
      NAMES,
    )
    const found = recipient.gates.find((one) => one.gate === gate)
    assert.ok(found?.holds === true)
    assert.strictEqual(whole.until, found.until)
    return { ...found, whole }
  }

  it('schedule: until the time that its sender set', async () => {
    const at = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000).toISOString()
    const { body } = await testbed.system.call('POST', '/send-email/schedule', {
      body: {
        from: `shop@${testbed.system.domain}`,
        to: 'a@later.example',
        subject: 's',
        text: 't',
        scheduled_at: at,
        timezone: 'Europe/Berlin',
      },
    })
    const gate = await heldBy(body['email_id'] as unknown as string, 'schedule')
    assert.deepEqual([gate.until, gate.rule], [at, `scheduled_at ${at}, time zone Europe/Berlin`])
  })

  it('suppression: its address is on the list', async () => {
    const { db, workspaceId } = testbed.system
    await suppress(
      db,
      [{ workspaceId, address: 'no@listed.example', kind: 'complaint', reason: 'reported as spam' }],
      new Date(),
    )
    const gate = await heldBy(await testbed.send({ to: 'NO@listed.example' }), 'suppression')
    assert.deepEqual([gate.rule, gate.until], ['complaint: reported as spam', null])
  })

  it('backoff: after a 4xx until the next try, by the tier', async () => {
    await testbed.addReceiver('busy.example', { on: { rcpt: '451 4.7.1 come back later' } })
    const gate = await heldBy(await testbed.send({ to: 'a@busy.example', tier: 'high' }), 'backoff')
    assert.match(gate.says, /451 4\.7\.1 come back later/)
    assert.strictEqual(gate.rule, 'tier high: 1 of 4 attempts used, backoff 30, 300, 1800 s')
    assert.strictEqual(gate.until, gate.whole.recipients[0]?.next_try_at)
    assert.ok(Date.parse(gate.until ?? '') > Date.now())
  })

  it('backoff: a site whose servers all failed', async () => {
    testbed.addUnreachableMx('dead.example')
    const gate = await heldBy(await testbed.send({ to: 'a@dead.example', tier: 'normal' }), 'backoff')
    assert.match(gate.says, /mx1\.dead\.example/)
    assert.match(gate.rule ?? '', /^tier normal: 0 of 4 attempts used/)
  })

  it('DNS: a domain whose servers do not answer', async () => {
    testbed.dns.zone['lost.example'] = { fault: 'servfail' }
    const gate = await heldBy(await testbed.send({ to: 'a@lost.example', tier: 'high' }), 'DNS')
    assert.match(gate.says, /MX of lost\.example/)
    assert.strictEqual(gate.until, gate.whole.recipients[0]?.next_try_at)
  })

  it('suspension: until the operator resumes it', async () => {
    await testbed.addReceiver('stopped.example')
    const { system } = testbed
    await suspend(system, 'stopped.example', 'they asked us to')
    const id = await testbed.send({ to: 'a@stopped.example' })
    const gate = await heldBy(id, 'suspension')
    assert.match(gate.says, /stopped\.example is suspended by the operator: they asked us to/)
    assert.strictEqual(gate.until, null)
    await resume(system, 'stopped.example')
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
  })

  it('site limit and tier: sessions in use, and higher tiers first', async () => {
    await testbed.addReceiver('slow.example', { on: { dot: { delayMs: 15_000 } } })
    // 8 for all mail but instant; they are accepted, and more than is held ahead stays ready
    const crowd = await Promise.all(
      Array.from({ length: 60 }, (_, i) => testbed.send({ to: `n${i}@slow.example`, tier: 'normal' })),
    )
    const last = crowd.at(-1) ?? ''
    let site = await heldBy(last, 'site limit')
    assert.strictEqual(site.rule, '10 connections at once to any receiver')
    // they open one after the other, and the mail is held from the first one on
    await until(
      async () => {
        site = await heldBy(last, 'site limit')
        return /^connections to .*slow\.example in use: 8; waiting for one: \d+$/.test(site.says)
      },
      () => site.says,
    )
    const bulk = await testbed.send({ to: 'b@slow.example', tier: 'bulk' })
    const tier = await heldBy(bulk, 'tier')
    assert.match(tier.says, /\d+ normal/)
    assert.match(tier.rule ?? '', /this is bulk/)
  })

  it('suppression: an address that is suppressed while its mail waits gets no more mail', async () => {
    const mx = await testbed.addReceiver('turns.example', { on: { rcpt: '451 4.7.1 later' } })
    const id = await testbed.send({ to: 'a@turns.example' })
    await heldBy(id, 'backoff')
    await suppress(
      testbed.system.db,
      [{ workspaceId: testbed.system.workspaceId, address: 'A@turns.example', kind: 'manual', reason: 'asked' }],
      new Date(),
    )
    await heldBy(id, 'suppression')
    const tries = mx.connections
    const details = await testbed.settle(id)
    assert.deepEqual(
      [details.status, details.recipients[0]?.reason],
      ['suppressed', 'the address is on the suppression list: asked'],
    )
    assert.strictEqual(mx.connections, tries, 'no further connection')
    assert.strictEqual((await explain(id)).held_by, 'suppression')
  })

  it('nothing: a message that is delivered is held by no gate', async () => {
    await testbed.addReceiver('fine.example')
    const id = await testbed.send({ to: 'a@fine.example' })
    await testbed.settle(id)
    const whole = await explain(id)
    assert.deepEqual(
      [whole.held_by, whole.until, whole.recipients[0]?.gates.some(({ holds }) => holds)],
      [null, null, false],
    )
    assert.match(whole.says, /^delivered: /)
  })

  it('quota: was counted at acceptance and holds nothing that is stored', async () => {
    await testbed.addReceiver('counted.example', { on: { rcpt: '451 4.7.1 later' } })
    const whole = await explain(await testbed.send({ to: 'a@counted.example', tier: 'high' }))
    const quota = whole.recipients[0]?.gates.find(({ gate }) => gate === 'quota')
    assert.strictEqual(quota?.holds, false)
    assert.match(quota.rule ?? '', /^plan /)
  })

  it('is 404 for another workspace and for an invalid id', async () => {
    for (const id of ['em_019a9a000000700080000000000000aa', 'nothing'])
      assert.strictEqual((await testbed.system.call('GET', `/public/emails/explain/${id}`)).status, 404)
  })
})
