import { assert } from 'chai'
import { createAudience, deleteAudience } from '#src/contacts/audiences.ts'
import { unsubscribe } from '#src/contacts/membership.ts'
import { createConfirmationToken } from '#src/subscribe/confirmation-token.ts'
import { loadMasterKey, createEncryption } from '#src/crypto/encryption.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'

const FORM = 'application/x-www-form-urlencoded'

describe('the public signup form', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ TRUST_PROXY: 'true', SUBSCRIBE_BASE_URL: 'http://join.example' })
  })
  after(() => api.stop())

  let host = 0
  /** A different network each time, so that tests do not share rate limits. */
  const newNetwork = (): string => `198.51.${Math.floor(++host / 250)}.${host % 250}`

  const audience = (
    order: { name?: string; isDoubleOptIn?: boolean; workspaceId?: string } = {},
  ): ReturnType<typeof createAudience> =>
    createAudience(
      api.db,
      order.workspaceId ?? api.workspaceId,
      { name: order.name ?? 'News', description: null, isDoubleOptIn: order.isDoubleOptIn ?? false },
      new Date(),
    )

  interface Said {
    readonly status: number
    readonly headers: Headers
    readonly text: string
  }
  async function ask(path: string, init: RequestInit = {}): Promise<Said> {
    const headers = { 'x-forwarded-for': newNetwork(), ...(init.headers as Record<string, string>) }
    const response = await fetch(api.url + path, { ...init, headers })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const postForm = (
    token: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Said> =>
    ask(`/s/${token}`, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': FORM, ...headers },
    })
  const postJson = (token: string, body: unknown, headers: Record<string, string> = {}): Promise<Said> =>
    ask(`/s/${token}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  const json = (said: Said): Json => JSON.parse(said.text) as Json

  interface Member {
    email: string
    is_subscribed: boolean
    first_name: string | null
    last_name: string | null
  }
  async function members(audienceId: string): Promise<Member[]> {
    const { rows } = await api.db.query<Member>(
      sql`
        SELECT c.email, m.is_subscribed, c.first_name, c.last_name
        FROM memberships m
        JOIN contacts c ON c.id = m.contact_id
        WHERE m.audience_id = $1
        ORDER BY c.email
      `,
      [audienceId],
    )
    return rows
  }
  const suppress = (address: string): Promise<unknown> =>
    api.db.query(`INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, $2, 'test')`, [
      api.workspaceId,
      address,
    ])
  async function events(): Promise<number> {
    const { rows } = await api.db.query<{ n: number }>(
      `SELECT count(*) AS n FROM events WHERE type = 'contact.subscribed'`,
    )
    return rows[0]?.n ?? 0
  }

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

  describe('the rate limit', () => {
    it('per network: 429 with Retry-After, whatever X-Forwarded-For claims', async () => {
      const { subscribeToken } = await audience()
      const posts = await Promise.all(
        Array.from({ length: 61 }, (_, i) =>
          postJson(subscribeToken, { email: `n${i}@pace.example` }, { 'x-forwarded-for': `203.0.113.${i}, 192.0.2.7` }),
        ),
      )
      const refused = posts.filter(({ status }) => status === 429)
      assert.strictEqual(refused.length, 1)
      assert.strictEqual(json(refused[0] ?? (posts[0] as Said))['error'], 'RATE_LIMITED')
      assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0)
      const page = await postForm(subscribeToken, { email: 'n@pace.example' }, { 'x-forwarded-for': '192.0.2.7' })
      assert.deepEqual([page.status, page.text.includes('<h1>Too many attempts</h1>')], [429, true])
      assert.strictEqual((await postJson(subscribeToken, { email: 'n@pace.example' })).status, 200)
    })
    it('an IPv6 /64 is one network', async () => {
      const { subscribeToken } = await audience()
      const posts = await Promise.all(
        Array.from({ length: 61 }, (_, i) =>
          postJson(
            subscribeToken,
            { email: `v${i}@pace.example` },
            { 'x-forwarded-for': `2001:db8:1:2::${i.toString(16)}` },
          ),
        ),
      )
      assert.strictEqual(posts.filter(({ status }) => status === 429).length, 1)
    })
    it('per address: from many networks, with and without a plus', async () => {
      const { subscribeToken } = await audience()
      const posts = await Promise.all(
        Array.from({ length: 11 }, (_, i) =>
          postJson(subscribeToken, { email: i % 2 === 0 ? 'Victim@x.example' : `victim+${i}@x.example` }),
        ),
      )
      assert.strictEqual(posts.filter(({ status }) => status === 429).length, 1)
      assert.strictEqual((await postJson(subscribeToken, { email: 'other@x.example' })).status, 200)
    })
    it('stores no address in Redis', async () => {
      const { subscribeToken } = await audience()
      await postJson(subscribeToken, { email: 'secret@x.example' })
      const { openRedis } = await import('#src/stores/redis.ts')
      const { openLog } = await import('#src/platform/log.ts')
      const redis = openRedis(api.redis.url, openLog({ logLevel: 'silent' }, 'test'))
      await new Promise((resolve) => redis.once('ready', resolve))
      const names = await redis.keys('mailstead:attempts:*')
      redis.disconnect()
      assert.ok(
        names.length > 0 && names.every((name) => /^mailstead:attempts:\{subscribe:[\w-]{22}\}$/.test(name)),
        names.join(),
      )
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

  describe('with double opt-in', () => {
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
          SELECT m.tier, m.from_email, m.from_name, m.subject, m.html, m.body_text
          FROM recipients r
          JOIN messages m ON m.id = r.message_id
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
      const answers: Said[] = []
      for (const { subscribeToken } of [one, one, two])
        answers.push(await postJson(subscribeToken, { email: 'calm@x.example' }))
      assert.ok(answers.every(({ status, text }) => status === 200 && text === answers[0]?.text))
      await postJson(one.subscribeToken, { email: 'calm+2@x.example' })
      assert.deepEqual(
        [(await sentMails('calm@x.example')).length, (await sentMails('calm+2@x.example')).length],
        [2, 0],
      )
    })
    it('is 404 for forged, expired and altered links, and for a deleted audience', async () => {
      const { id } = await audience({ isDoubleOptIn: true })
      const gone = await audience({ isDoubleOptIn: true })
      await deleteAudience(api.db, api.workspaceId, gone.id)
      const encryption = createEncryption(loadMasterKey(api.config))
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

  it('without Redis the form works, and each process limits the rate on its own', async () => {
    const { id, subscribeToken } = await audience()
    await api.redis.crash()
    try {
      const posts = await Promise.all(
        Array.from({ length: 61 }, (_, i) =>
          postJson(subscribeToken, { email: `away${i}@pace.example` }, { 'x-forwarded-for': '192.0.2.99' }),
        ),
      )
      assert.deepEqual(
        [posts.filter(({ status }) => status === 200).length, posts.filter(({ status }) => status === 429).length],
        [60, 1],
      )
      assert.strictEqual((await members(id)).length, 60)
    } finally {
      await api.redis.restart()
    }
  })
})
