import { assert } from 'chai'
import { deleteAudience } from '#src/contacts/audiences.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { loadMasterKeys } from '#src/crypto/master-key.ts'
import { sql } from '#src/stores/sql.ts'
import { createConfirmationToken } from '#src/subscribe/confirmation-token.ts'
import { textOf, type TestApi } from '#test/support/api.ts'
import { FORM, json, signupForm, startFormApi, type FormResponse } from './subscribe-form.test-data.ts'

describe('double opt-in at the public signup form', () => {
  let api: TestApi
  before(async () => {
    api = await startFormApi()
  })
  after(() => api.stop())
  const { audience, ask, postForm, postJson, members, suppress, events } = signupForm(() => api)

  interface SentMail {
    tier: string
    from_email: string
    from_name: string
    subject: string
    html: string
    body_text: string
  }
  async function sentMails(email: string): Promise<SentMail[]> {
    const { rows } = await api.db.query<SentMail>(
      sql`
        SELECT m.tier, m.from_email, m.from_name, m.subject, b.html, b.body_text
        FROM recipients r
        JOIN messages m ON m.id = r.message_id
        JOIN message_bodies b ON b.message_id = m.id
        WHERE r.address = $1
      `,
      [email],
    )
    return rows
  }
  const linkOf = (mail: SentMail | undefined): string =>
    textOf(/http:\/\/join\.example(\/s\/confirm\/[\w-]+)/.exec(mail?.body_text ?? '')?.[1])

  it('sends a mail, stores nothing, and subscribes on the button, not on opening the link', async () => {
    const { id, subscribeToken } = await audience({ name: 'Tea\r\n<i>', isDoubleOptIn: true })
    const before = await events()
    const said = await postForm(subscribeToken, { email: 'Double@x.example', first_name: 'Buy http://spam.example' })
    assert.deepEqual([said.status, said.text.includes('Check your inbox')], [200, true])
    const [mail, ...more] = await sentMails('double@x.example')
    assert.strictEqual(more.length, 0)
    assert.deepEqual(
      [mail?.tier, mail?.from_email, mail?.from_name, mail?.subject],
      ['instant', `no-reply@${api.domain}`, 'Tea <i>', 'Please confirm: Tea <i>'],
    )
    assert.ok(
      !`${mail?.html}${mail?.body_text}${mail?.subject}`.includes('spam'),
      'the mail contains no text from the form',
    )
    assert.ok(!mail?.html.includes('<i>'))
    const { rows } = await api.db.query(`SELECT 1 FROM contacts WHERE email = 'double@x.example'`)
    assert.strictEqual(rows.length, 0)
    const link = linkOf(mail)
    assert.ok(
      !Buffer.from(link.slice('/s/confirm/'.length), 'base64url').toString('latin1').includes('double@'),
      'the link is readable',
    )
    const opened = await ask(link)
    assert.deepEqual([opened.status, opened.text.includes('<button type="submit">')], [200, true])
    await ask(link, { method: 'HEAD' })
    assert.deepEqual([await members(id), await events()], [[], before])
    for (let i = 0; i < 2; i++) {
      const pressed = await ask(link, { method: 'POST', headers: { 'content-type': FORM } })
      assert.deepEqual([pressed.status, pressed.text.includes('<h1>Thank you</h1>')], [200, true])
    }
    assert.deepEqual(
      (await members(id)).map((one) => [one.email, one.is_subscribed, one.first_name]),
      [['double@x.example', true, 'Buy http://spam.example']],
    )
    assert.strictEqual(await events(), before + 1)
  })
  it('as JSON reports that a confirmation is required, for known addresses too', async () => {
    const { subscribeToken, id } = await audience({ isDoubleOptIn: true })
    const first = await postJson(subscribeToken, { email: 'j@x.example' })
    assert.deepEqual(json(first)['data'], { status: 'subscribed', confirmation_required: true })
    const link = linkOf((await sentMails('j@x.example'))[0])
    const done = await ask(link, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
    assert.deepEqual(json(done), {
      success: true,
      message: 'Subscribed.',
      data: { status: 'subscribed', confirmation_required: false },
    })
    assert.strictEqual((await members(id)).length, 1)
    assert.strictEqual((await postJson(subscribeToken, { email: 'j@x.example' })).text, first.text)
  })
  it('mails an address once in ten minutes per audience', async () => {
    const [one, two] = [await audience({ isDoubleOptIn: true }), await audience({ isDoubleOptIn: true })]
    const answers: FormResponse[] = []
    for (const { subscribeToken } of [one, one, two])
      answers.push(await postJson(subscribeToken, { email: 'calm@x.example' }))
    assert.ok(answers.every(({ status, text }) => status === 200 && text === answers[0]?.text))
    await postJson(one.subscribeToken, { email: 'calm+2@x.example' })
    assert.deepEqual([(await sentMails('calm@x.example')).length, (await sentMails('calm+2@x.example')).length], [2, 0])
  })
  it('is 404 for forged, expired and altered links, and for a deleted audience', async () => {
    const { id } = await audience({ isDoubleOptIn: true })
    const gone = await audience({ isDoubleOptIn: true })
    await deleteAudience(api.db, api.workspaceId, gone.id)
    const encryption = createEncryption(...loadMasterKeys(api.config))
    const proofFor = (audienceId: string, now = Date.now()): string =>
      createConfirmationToken(
        { encryption, clock: { now: () => now } },
        { workspaceId: api.workspaceId, audienceId, email: 'x@x.example', firstName: null, lastName: null },
      )
    const good = proofFor(id)
    assert.strictEqual((await ask(`/s/confirm/${good}`)).status, 200)
    const changed = good.replace(/^(.{40})./, (_, head: string) => `${head}${good[40] === 'A' ? 'B' : 'A'}`)
    const foreign = createEncryption(Buffer.alloc(32, 7)).encrypt('subscribe-proof', '[]').toString('base64url')
    const otherUse = encryption.encrypt('webhook', '[]').toString('base64url')
    const over = proofFor(id, Date.now() - 7 * 24 * 3600 * 1000 - 1)
    for (const proof of [
      changed,
      over,
      proofFor(gone.id),
      foreign,
      otherUse,
      good.slice(1),
      'x',
      'x'.repeat(5000),
      '%2e',
    ])
      for (const method of ['GET', 'POST']) {
        const page = await ask(`/s/confirm/${proof}`, { method, headers: { 'content-type': FORM } })
        assert.deepEqual(
          [page.status, page.text.startsWith('<!doctype html>')],
          [404, true],
          `${method} ${proof.slice(0, 20)}`,
        )
      }
    assert.deepEqual(await members(id), [])
  })
  it('without a verified domain the form is closed, because no confirmation can be sent', async () => {
    const tenant = await api.addTenant({ status: 'pending' })
    const { subscribeToken } = await audience({ isDoubleOptIn: true, workspaceId: tenant.workspaceId })
    const said = await postJson(subscribeToken, { email: 'a@x.example' })
    assert.deepEqual(
      [said.status, json(said)['error'], said.headers.get('retry-after')],
      [503, 'SERVICE_UNAVAILABLE', '3600'],
    )
  })
  it('a suppressed address gets the same response and no mail', async () => {
    const { subscribeToken } = await audience({ isDoubleOptIn: true })
    await suppress('never@x.example')
    assert.strictEqual((await postJson(subscribeToken, { email: 'never@x.example' })).status, 200)
    const { rows } = await api.db.query(`SELECT state FROM recipients WHERE address = 'never@x.example'`)
    assert.deepEqual(rows, [{ state: 'suppressed' }])
  })
})
