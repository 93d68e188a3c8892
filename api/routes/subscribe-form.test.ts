import { assert } from 'chai'
import { deleteAudience } from '#src/contacts/audiences.ts'
import { unsubscribe } from '#src/contacts/membership.ts'
import type { TestApi } from '#test/support/api.ts'
import { FORM, json, signupForm, startFormApi } from './subscribe-form.test-data.ts'

describe('the public signup form', () => {
  let api: TestApi
  before(async () => {
    api = await startFormApi()
  })
  after(() => api.stop())
  const { audience, ask, postForm, postJson, members, suppress, events } = signupForm(() => api)

  describe('the page', () => {
    it('has an accessible form and names the audience', async () => {
      const { subscribeToken } = await audience({ name: 'Tea & <b>Biscuits</b> "daily"' })
      const { status, headers, text } = await ask(`/s/${subscribeToken}`)
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8'])
      for (const part of [
        '<html lang="en">',
        '<title>Subscribe to Tea &amp; &lt;b&gt;Biscuits&lt;/b&gt; &quot;daily&quot;</title>',
        '<form method="post">',
        '<label for="email">',
        'autocomplete="email" required',
        'autocomplete="given-name"',
        'autocomplete="family-name"',
        'name="viewport"',
      ])
        assert.ok(text.includes(part), part)
      assert.ok(!/<script|\son\w+=|<b>|style="/.test(text))
      assert.strictEqual(
        [...text.matchAll(/<label for="(\w+)"/g)].every(([, id]) => text.includes(`id="${id}"`)),
        true,
      )
    })
    it('has no script, loads nothing, cannot be framed and sets no cookie', async () => {
      const { subscribeToken } = await audience()
      const { headers } = await ask(`/s/${subscribeToken}`)
      assert.match(
        headers.get('content-security-policy') ?? '',
        new RegExp(
          "^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; form-action 'self'; " +
            "base-uri 'none'; frame-ancestors 'none'$",
        ),
      )
      assert.deepEqual(
        ['set-cookie', 'referrer-policy', 'cache-control', 'x-content-type-options'].map((name) => headers.get(name)),
        [null, 'no-referrer', 'no-store', 'nosniff'],
      )
      assert.ok(headers.get('permissions-policy') !== null)
    })
    it('is 404, as a page or as JSON, for an invalid or unknown token and for a deleted audience', async () => {
      const gone = await audience()
      await deleteAudience(api.db, api.workspaceId, gone.id)
      for (const token of ['x', '0'.repeat(32), gone.subscribeToken, '%00', "'"]) {
        const page = await ask(`/s/${token}`, { headers: { accept: 'text/html,*/*;q=0.8' } })
        assert.ok(token === '%00' ? page.status === 400 : page.status === 404, `${token} ${page.status}`)
        assert.match(page.text, /^<!doctype html>/)
        const data = json(await ask(`/s/${token}`, { headers: { accept: 'application/json' } }))
        assert.strictEqual(data['success'], false)
      }
      for (const email of ['a@b.example', '']) {
        const said = await postForm(gone.subscribeToken, { email })
        assert.deepEqual([said.status, said.text.includes('<h1>Page not found</h1>')], [404, true])
      }
      const data = await postJson(gone.subscribeToken, { email: 'a@b.example' })
      assert.deepEqual([data.status, json(data)['error']], [404, 'NOT_FOUND'])
    })
  })

  describe('a subscription', () => {
    it('as a form: shows a thank-you page and stores a contact, a membership and one event', async () => {
      const { id, subscribeToken } = await audience()
      const before = await events()
      const said = await postForm(subscribeToken, {
        email: ' New@Form.example ',
        first_name: 'Ada',
        last_name: 'Byron',
        homepage: '',
      })
      assert.deepEqual([said.status, said.text.includes('You are subscribed to News.')], [200, true])
      assert.deepEqual(await members(id), [
        { email: 'new@form.example', is_subscribed: true, first_name: 'Ada', last_name: 'Byron' },
      ])
      assert.strictEqual(await events(), before + 1)
    })
    it('as JSON, with each alias of the names', async () => {
      const { id, subscribeToken } = await audience()
      const said = await postJson(subscribeToken, { email: 'a@json.example', firstName: 'A', lastName: null })
      assert.deepEqual(
        [said.status, json(said)],
        [200, { success: true, message: 'Subscribed.', data: { status: 'subscribed', confirmation_required: false } }],
      )
      await postJson(subscribeToken, { email: 'b@json.example', last_name: 'B', first_name: '' })
      assert.deepEqual(
        (await members(id)).map((one) => [one.first_name, one.last_name]),
        [
          ['A', null],
          [null, 'B'],
        ],
      )
    })
    it('responds alike for any address: new, subscribed, unsubscribed, suppressed or in another audience', async () => {
      const [here, there] = [await audience(), await audience({ name: 'Other' })]
      await postJson(here.subscribeToken, { email: 'known@x.example' })
      await postJson(here.subscribeToken, { email: 'left@x.example' })
      await postJson(there.subscribeToken, { email: 'elsewhere@x.example' })
      const {
        rows: [left],
      } = await api.db.query<{ id: string }>(`SELECT id FROM contacts WHERE email = 'left@x.example'`)
      const at = { workspaceId: api.workspaceId, audienceId: here.id, now: new Date() }
      await api.db.transaction((tx) => unsubscribe(tx, at, left?.id ?? ''))
      await suppress('blocked@x.example')
      const emails = ['new@x.example', 'known@x.example', 'left@x.example', 'elsewhere@x.example', 'blocked@x.example']
      for (const post of [postForm, postJson]) {
        const answers = await Promise.all(
          emails.map(async (email) => {
            const { status, headers, text } = await post(here.subscribeToken, { email })
            return { status, text, names: [...headers.keys()] }
          }),
        )
        for (const answer of answers) assert.deepEqual(answer, answers[0])
      }
      assert.ok((await members(here.id)).every((one) => one.is_subscribed))
      assert.strictEqual((await members(here.id)).length, emails.length)
      const { rows } = await api.db.query(`SELECT 1 FROM suppressions WHERE address = 'blocked@x.example'`)
      assert.strictEqual(rows.length, 1)
    })
    it('responds only after the same work, for known and unknown addresses', async () => {
      const { subscribeToken } = await audience()
      for (const email of ['slow@x.example', 'slow@x.example']) {
        const began = performance.now()
        await postJson(subscribeToken, { email })
        assert.ok(performance.now() - began >= 195)
      }
    })
    it('a second time changes nothing and records no event', async () => {
      const { id, subscribeToken } = await audience()
      await postJson(subscribeToken, { email: 'twice@x.example', first_name: 'First' })
      const before = await events()
      await Promise.all([
        postForm(subscribeToken, { email: 'Twice@x.example', first_name: 'Second' }),
        postJson(subscribeToken, { email: 'twice@x.example' }),
      ])
      assert.deepEqual(await members(id), [
        { email: 'twice@x.example', is_subscribed: true, first_name: 'First', last_name: null },
      ])
      assert.strictEqual(await events(), before)
    })
    it('ten concurrent requests for a new address create one membership and one event', async () => {
      const { id, subscribeToken } = await audience()
      const before = await events()
      const said = await Promise.all(
        Array.from({ length: 10 }, () => postJson(subscribeToken, { email: 'crowd@x.example' })),
      )
      assert.ok(said.every(({ status }) => status === 200))
      assert.deepEqual([(await members(id)).length, await events()], [1, before + 1])
    })
    it('with the honeypot filled in gets the same response, and nothing is stored', async () => {
      const { id, subscribeToken } = await audience()
      const person = await postForm(subscribeToken, { email: 'person@x.example' })
      const trapped = await postForm(subscribeToken, { email: 'bot@x.example', homepage: 'http://spam.example' })
      assert.deepEqual([trapped.status, trapped.text], [person.status, person.text])
      assert.deepEqual(
        (await members(id)).map(({ email }) => email),
        ['person@x.example'],
      )
    })
    const escapeHtml = (value: string): string =>
      value
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;')
    const WRONG: readonly (readonly [why: string, fields: Record<string, string>, path: string])[] = [
      ['no address', { first_name: '"><script>alert(1)</script>' }, 'email'],
      ['an empty address', { email: '', last_name: 'O\'Neill & "sons"' }, 'email'],
      ['an invalid address', { email: '<img src=x>@' }, 'email'],
      ['an address with a name', { email: 'A <a@b.example>' }, 'email'],
      ['a name without end', { email: 'a@b.example', first_name: 'x'.repeat(101) }, 'first_name'],
      ['a name with a line break', { email: 'a@b.example', last_name: 'a\r\nBcc: c@d.example' }, 'last_name'],
    ]
    for (const [why, fields, path] of WRONG)
      it(`with ${why}: 400, the form with its values, or details in JSON`, async () => {
        const { id, subscribeToken } = await audience()
        const page = await postForm(subscribeToken, fields)
        assert.strictEqual(page.status, 400)
        assert.match(page.text, /<title>Error: Subscribe to News<\/title>/)
        assert.match(page.text, new RegExp(`role="alert"[^]*<a href="#${path}">`))
        assert.match(
          page.text,
          new RegExp(`id="${path}"[^>]* aria-invalid="true" aria-describedby="${path}-wrong" autofocus>`),
        )
        for (const value of Object.values(fields)) assert.ok(page.text.includes(`value="${escapeHtml(value)}"`), value)
        assert.ok(!/<script|<img/.test(page.text))
        const data = await postJson(subscribeToken, fields)
        assert.deepEqual(
          [data.status, json(data)['error'], json(data)['details']?.['0']?.['path']],
          [400, 'VALIDATION_ERROR', path],
        )
        assert.deepEqual(await members(id), [])
      })
    it('refuses a body that is too large or neither a form nor JSON, also without Content-Length', async () => {
      const { subscribeToken } = await audience()
      const large = await postForm(subscribeToken, { email: 'a@b.example', first_name: 'x'.repeat(70_000) })
      assert.deepEqual([large.status, large.headers.get('content-type')], [413, 'text/html; charset=utf-8'])
      assert.strictEqual(
        (await postJson(subscribeToken, { email: 'a@b.example', first_name: 'x'.repeat(70_000) })).status,
        413,
      )
      const stream = new Blob(['email=', 'x'.repeat(70_000)]).stream()
      const endless = await ask(`/s/${subscribeToken}`, {
        method: 'POST',
        body: stream,
        headers: { 'content-type': FORM },
        duplex: 'half',
      })
      assert.strictEqual(endless.status, 413)
      const other = await ask(`/s/${subscribeToken}`, {
        method: 'POST',
        body: 'x',
        headers: { 'content-type': 'text/plain' },
      })
      assert.strictEqual(other.status, 415)
    })
    it('a form post that accepts JSON gets JSON', async () => {
      const { subscribeToken } = await audience()
      const said = await postForm(subscribeToken, { email: 'wants@json.example' }, { accept: 'application/json' })
      assert.strictEqual(json(said)['success'], true)
    })
  })

  describe('from another site', () => {
    it('CORS allows posting JSON and reading the response, also errors; nothing else', async () => {
      const { subscribeToken } = await audience()
      const origin = { origin: 'https://customer.example' }
      const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
      const asked = await ask(`/s/${subscribeToken}`, { method: 'OPTIONS', headers: { ...origin, ...preflight } })
      assert.deepEqual(
        [
          asked.status,
          asked.headers.get('access-control-allow-origin'),
          asked.headers.get('access-control-allow-methods'),
          asked.headers.get('access-control-allow-headers'),
        ],
        [204, '*', 'POST', 'Content-Type'],
      )
      for (const body of [{ email: 'cors@x.example' }, { email: 'x' }])
        assert.strictEqual(
          (await postJson(subscribeToken, body, origin)).headers.get('access-control-allow-origin'),
          '*',
        )
      for (const path of ['/api/v1/send-email/instant', '/api/v1/templates', '/healthz', '/s/confirm/x', '/nowhere']) {
        const closed = await ask(path, { method: 'OPTIONS', headers: origin })
        assert.strictEqual(closed.headers.get('access-control-allow-origin'), null, path)
        assert.strictEqual(
          (await ask(path, { headers: origin })).headers.get('access-control-allow-origin'),
          null,
          path,
        )
      }
    })
  })
})
