/** A campaign from its draft to its last recipient, with all processes: who gets it, who does not, and when. */
import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import { sql } from '#src/stores/sql.ts'
import { addAudience, addMembers, BODY, createCampaignClient } from '#test/support/campaign.ts'
import { textOf, type TestResponse } from '#test/support/api.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

describe('campaigns on their way', () => {
  let testbed: Testbed
  let campaigns: ReturnType<typeof createCampaignClient>
  before(async () => {
    testbed = await startTestbed()
    campaigns = createCampaignClient(testbed.system)
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)
  async function audienceOf(count: number, domain: string, prefix = 'c'): Promise<string> {
    const audience = await addAudience(testbed.system)
    await addMembers(testbed.system, audience, { count, domain, prefix })
    return audience
  }
  const addressees = ({ messages }: { readonly messages: readonly { readonly to: readonly string[] }[] }): string[] =>
    messages.flatMap(({ to }) => to).toSorted()
  const numbered = (count: number, domain: string): string[] =>
    Array.from({ length: count }, (_, i) => `c${i + 1}@${domain}`).toSorted()
  async function states(id: string): Promise<Readonly<Record<string, number>>> {
    const { rows } = await testbed.system.db.query<{ state: string; n: number }>(
      'SELECT state, count(*)::int AS n FROM campaign_recipients WHERE campaign_id = $1 GROUP BY state',
      [id],
    )
    return Object.fromEntries(rows.map(({ state, n }) => [state, n]))
  }

  it('goes to each member of its audiences once, rendered for them, and is COMPLETED', async () => {
    const mx = await testbed.addReceiver('once.example')
    const [one, two] = [await audienceOf(40, 'once.example'), await audienceOf(60, 'once.example')]
    const id = await campaigns.create({ audience_ids: [one, two] })
    assert.strictEqual(textOf((await campaigns.move(id, 'start'))['status']), 'SENDING')
    const metrics = (await campaigns.settle(id))['metrics'] as unknown as Record<string, number>
    assert.deepEqual(
      [metrics['recipients'], metrics['dispatched'], metrics['delivered'], metrics['waiting']],
      [60, 60, 60, 0],
    )
    assert.deepEqual(addressees(mx), numbered(60, 'once.example'))
    const mail = await simpleParser(mx.messages.find(({ to }) => to.includes('c7@once.example'))?.bytes ?? '')
    assert.strictEqual(mail.subject, 'Hello N7')
    assert.match(mail.text ?? '', /Hello N7/)
    assert.match(String(mail.headerLines.find(({ key }) => key === 'list-unsubscribe-post')?.line), /One-Click/)
    const { recipients } = (await campaigns.call('GET', `/${id}/recipients?limit=1`)).body['data'] as unknown as {
      recipients: { email_id: string }[]
    }
    const emailId = recipients[0]?.email_id ?? assert.fail()
    const ask = (path: string): Promise<TestResponse> => testbed.system.call('GET', path, { key: testbed.system.admin })
    assert.strictEqual((await ask(`/public/emails/get-email?id=${emailId}`)).body['data']?.['campaign_id'], id)
    for (const path of ['emails?recipient=', 'contacts/get-contact-history?email=']) {
      const shown = JSON.stringify((await ask(`/public/${path}c7@once.example`)).body)
      assert.include(shown, '"subject":"Hello N7"', 'lists show the subject that the recipient sees')
    }
    const events = (await ask(`/public/events?email_id=${emailId}`)).body['data']?.['events'] as unknown as {
      data: { campaign_id?: string }
    }[]
    assert.ok(events.length > 0 && events.every(({ data }) => data.campaign_id === id))
  })

  it('has the text part that its author wrote', async () => {
    const mx = await testbed.addReceiver('text.example')
    const id = await campaigns.create({
      audience_ids: [await audienceOf(1, 'text.example')],
      text: 'Written for {{firstName}}',
    })
    await campaigns.move(id, 'start')
    await campaigns.settle(id)
    const mail = await simpleParser(mx.messages[0]?.bytes ?? '')
    assert.strictEqual(mail.text?.trim(), 'Written for N1')
    assert.match(String(mail.html), /Hello N1/)
  })

  it('fails for a few recipients whose mail never ends rendering, and reaches all others', async () => {
    const mx = await testbed.addReceiver('hang.example')
    const audience = await audienceOf(60, 'hang.example')
    await testbed.system.db.query(
      sql`
        UPDATE contacts
        SET custom_attributes = jsonb_build_object('a', (SELECT jsonb_agg(i) FROM generate_series(1, 1000) i))
        WHERE email = ANY ($1)
      `,
      [Array.from({ length: 6 }, (_, i) => `c${i + 1}@hang.example`)],
    )
    const endless =
      '{{#each attributes.a}}{{#each ../attributes.a}}{{#each ../../attributes.a}}{{/each}}{{/each}}{{/each}}'
    const id = await campaigns.create({ audience_ids: [audience], html: `${BODY}${endless}` })
    await campaigns.move(id, 'start', { force: true })
    await campaigns.settle(id, 'COMPLETED', 60_000)
    assert.deepEqual(await states(id), { delivered: 54, failed: 6 })
    assert.strictEqual(mx.messages.length, 54)
  })

  it('skips unsubscribed and suppressed contacts, also when that happens after the start', async () => {
    const mx = await testbed.addReceiver('left.example')
    const { db, workspaceId } = testbed.system
    const audience = await audienceOf(6, 'left.example')
    const leave = (n: number): Promise<unknown> =>
      db.query(`UPDATE memberships SET is_subscribed = false WHERE audience_id = $1 AND email = $2`, [
        audience,
        `c${n}@left.example`,
      ])
    const suppress = (n: number): Promise<unknown> =>
      db.query(`INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, $2, 'by hand')`, [
        workspaceId,
        `c${n}@left.example`,
      ])
    await leave(1)
    await suppress(2)
    await testbed.system.roles.mta.stop()
    const id = await campaigns.create({ audience_ids: [audience] })
    await campaigns.move(id, 'start')
    await campaigns.settle(id, 'SENT')
    assert.deepEqual(await states(id), { dispatched: 4 })
    await leave(3)
    await suppress(4)
    await db.query('DELETE FROM contacts WHERE workspace_id = $1 AND email = $2', [workspaceId, 'c5@left.example'])
    await testbed.system.startMissing()
    await campaigns.settle(id)
    assert.deepEqual(addressees(mx), ['c6@left.example'])
    assert.deepEqual(await states(id), { delivered: 1, suppressed: 2, failed: 1 })
  })

  it('sends nothing while paused, the rest once after it resumes, and nothing more after it is cancelled', async () => {
    const mx = await testbed.addReceiver('pause.example')
    const audience = await audienceOf(50, 'pause.example')
    await testbed.system.roles.mta.stop()
    const id = await campaigns.create({ audience_ids: [audience] })
    await campaigns.move(id, 'start')
    await until(async () => (await states(id))['dispatched'] === 50)
    // all of it is in the queue, and none of it has left
    await campaigns.settle(id, 'SENT')
    await campaigns.move(id, 'pause')
    const later = await campaigns.create({ audience_ids: [audience], spread_minutes: 1000 })
    await campaigns.move(later, 'start')
    await until(async () => (await campaigns.metrics(later))['recipients'] === 50)
    await campaigns.move(later, 'pause')
    assert.strictEqual((await campaigns.call('POST', `/${later}/pause`)).status, 409)
    await testbed.system.startMissing()
    const other = await testbed.system.call('POST', '/send-email/bulk', {
      body: { from: 'shop@sender.example', to: 'other@pause.example', subject: 'x', text: 'x' },
    })
    assert.strictEqual(other.status, 200)
    await until(
      () => Promise.resolve(mx.messages.length > 0),
      () => 'other mail does not leave',
    )
    assert.deepEqual(addressees(mx), ['other@pause.example'])
    await campaigns.move(id, 'resume')
    await campaigns.settle(id)
    assert.strictEqual(mx.messages.length, 51)
    await testbed.system.db.query(`UPDATE campaign_recipients SET sends_at = now() WHERE campaign_id = $1`, [later])
    await campaigns.move(later, 'resume')
    await campaigns.settle(later)
    assert.strictEqual(mx.messages.length, 101)
    const third = await campaigns.create({ audience_ids: [audience], spread_minutes: 10_000 })
    await campaigns.move(third, 'start')
    await until(async () => (await campaigns.metrics(third))['recipients'] === 50)
    await campaigns.move(third, 'cancel')
    await until(async () => (await states(third))['waiting'] === undefined)
    assert.strictEqual((await campaigns.show(third))['status'], 'CANCELLED')
  })

  it('a retry reaches only recipients whose mail failed; a resend only those who did not open it', async () => {
    const mx = await testbed.addReceiver('again.example')
    const { db } = testbed.system
    const audience = await audienceOf(5, 'again.example')
    const id = await campaigns.create({ audience_ids: [audience] })
    await campaigns.move(id, 'start')
    await campaigns.settle(id)
    await db.query(
      sql`
        UPDATE campaign_recipients
        SET state = 'failed', failed_at = now(), delivered_at = NULL
        WHERE campaign_id = $1 AND email = $2
      `,
      [id, 'c2@again.example'],
    )
    await campaigns.move(id, 'retry-failed')
    await campaigns.settle(id)
    assert.deepEqual(addressees(mx), [...numbered(5, 'again.example'), 'c2@again.example'].toSorted())
    assert.strictEqual((await campaigns.metrics(id))['delivered'], 5)
    await db.query(`UPDATE campaign_recipients SET opened_at = now() WHERE campaign_id = $1 AND email <> $2`, [
      id,
      'c4@again.example',
    ])
    const further = await campaigns.call('POST', `/${id}/resend`, { subject: 'Again, {{firstName}}' })
    assert.strictEqual(further.status, 201)
    const furtherId = textOf(further.body['data']?.['id'])
    await campaigns.move(furtherId, 'start')
    await campaigns.settle(furtherId)
    assert.strictEqual(addressees(mx).filter((address) => address === 'c4@again.example').length, 2)
    assert.strictEqual(mx.messages.length, 7)
  })

  it('a test of subjects: each half of the share gets one, and the winner by clicks goes to the rest', async () => {
    const mx = await testbed.addReceiver('test.example')
    const { db } = testbed.system
    const audience = await audienceOf(20, 'test.example')
    const id = await campaigns.create({
      audience_ids: [audience],
      test: { subject_b: 'Other', percent: 40, minutes: 600 },
    })
    await campaigns.move(id, 'start')
    await until(async () => (await campaigns.metrics(id))['delivered'] === 8)
    const variants = (await campaigns.show(id))['variants'] as unknown as Record<'a' | 'b', Record<string, number>>
    assert.deepEqual([variants.a['delivered'], variants.b['delivered']], [4, 4])
    await db.query(`UPDATE campaign_recipients SET opened_at = now() WHERE campaign_id = $1 AND variant = 'a'`, [id])
    await db.query(`UPDATE campaign_recipients SET clicked_at = now() WHERE campaign_id = $1 AND variant = 'b'`, [id])
    await db.query(`UPDATE campaign_recipients SET sends_at = now() WHERE campaign_id = $1 AND is_waiting`, [id])
    await campaigns.settle(id)
    const subjects = await Promise.all(mx.messages.map(async ({ bytes }) => (await simpleParser(bytes)).subject))
    assert.strictEqual(subjects.filter((subject) => subject === 'Other').length, 16)
    assert.strictEqual(((await campaigns.show(id))['test'] as unknown as { winner: string }).winner, 'b')
    const { rows } = await db.query<{ subject: string; n: number }>(
      'SELECT subject, count(*)::int AS n FROM messages WHERE campaign_id = $1 GROUP BY subject ORDER BY n',
      [id],
    )
    assert.deepEqual(
      rows,
      [
        { subject: 'Hello {{firstName}}', n: 4 },
        { subject: 'Other', n: 16 },
      ],
      'each is reported under its own subject',
    )
  })

  it('starts at its scheduled time, and fails with the reason when it cannot', async () => {
    const mx = await testbed.addReceiver('time.example')
    const { db } = testbed.system
    const audience = await audienceOf(3, 'time.example')
    const [good, bad] = [
      await campaigns.create({ audience_ids: [audience] }),
      await campaigns.create({ audience_ids: [audience] }),
    ]
    const at = new Date(Date.now() + 3_600_000).toISOString()
    for (const id of [good, bad])
      assert.strictEqual((await campaigns.move(id, 'schedule', { scheduled_at: at }))['status'], 'SCHEDULED')
    await db.query(`UPDATE campaigns SET from_email = 'a@nobody.example' WHERE id = $1`, [bad])
    await db.query(`UPDATE campaigns SET starts_at = now() WHERE id = ANY ($1)`, [[good, bad]])
    await campaigns.settle(good)
    assert.match(textOf((await campaigns.settle(bad, 'FAILED'))['reason']), /verified domain/)
    assert.strictEqual(mx.messages.length, 3)
  })

  it("goes at a time on the recipient's own clock", async () => {
    const { db, workspaceId } = testbed.system
    const audience = await audienceOf(3, 'clock.example')
    for (const [i, zone] of ['Asia/Tokyo', 'America/New_York'].entries())
      await db.query('UPDATE contacts SET timezone = $3 WHERE workspace_id = $1 AND email = $2', [
        workspaceId,
        `c${i + 1}@clock.example`,
        zone,
      ])
    const id = await campaigns.create({ audience_ids: [audience] })
    const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
    await campaigns.move(id, 'schedule', {
      scheduled_at: `${day}_09:00:00`,
      timezone: 'Europe/Berlin',
      recipient_time: true,
    })
    await db.query(`UPDATE campaigns SET starts_at = now() WHERE id = $1`, [id])
    await until(async () => (await states(id))['waiting'] === 3)
    const { rows } = await db.query<{ email: string; at: Date }>(
      'SELECT email, sends_at AS at FROM campaign_recipients WHERE campaign_id = $1 ORDER BY sends_at',
      [id],
    )
    assert.deepEqual(
      rows.map(({ email }) => email),
      ['c1@clock.example', 'c3@clock.example', 'c2@clock.example'],
    )
    assert.strictEqual(rows[0]?.at.toISOString(), `${day}T00:00:00.000Z`)
    await campaigns.move(id, 'cancel')
  })

  it('is not sent without a way to unsubscribe, a sender, or content', async () => {
    const audience = await audienceOf(1, 'red.example')
    const wrong: readonly (readonly [fields: object, why: RegExp])[] = [
      [{ html: '<p>Hello</p>' }, /unsubscribeUrl/],
      [{ from: 'a@nobody.example' }, /verified domain/],
      [{ subject: null }, /no content/],
      [{ audience_ids: [] }, /no existing audience/],
      [{ html: `${BODY}{{#if}}` }, /cannot be/],
    ]
    for (const [fields, why] of wrong) {
      const id = await campaigns.create({ audience_ids: [audience], ...fields })
      const answer = await campaigns.call('POST', `/${id}/start`)
      assert.strictEqual(answer.status, 409, JSON.stringify(fields))
      assert.match(textOf(answer.body['message']), why)
    }
  })
})
