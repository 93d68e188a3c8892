/** Captured emails over the API: list, get, download and delete. */
import { assert } from 'chai'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { storeCapturedMail, pruneInbox } from '#src/sandbox/inbox.ts'
import { listOf, startApi, textOf, type TestApi } from '#test/support/api.ts'

const RAW = [
  'From: Shop <me@sender.example>',
  'Subject: Your code',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary="b"',
  '',
  '--b',
  'Content-Type: text/html',
  '',
  '<script>alert(1)</script><b>4711</b>',
  '--b',
  'Content-Type: application/pdf; name="a.pdf"',
  'Content-Disposition: attachment; filename="a.pdf"',
  'Content-Transfer-Encoding: base64',
  '',
  'YWJj',
  '--b--',
  '',
].join('\r\n')

describe('captured emails', () => {
  let api: TestApi

  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  async function capture(raw: Buffer, at = new Date()): Promise<string> {
    const sent = await api.call('POST', '/send-email/instant', {
      key: api.regular,
      body: { from: `me@${api.domain}`, to: 'ann@capture.example', subject: 'Your code', body: 'x' },
    })
    const mail = {
      mailFrom: '',
      headerFrom: 'me@sender.example',
      subject: 'Your code',
      messageId: messageIdOf(textOf(sent.body['id'])),
      tls: null,
      dkim: [],
      raw,
    }
    const [id = ''] = await storeCapturedMail(api.db, mail, ['ann@capture.example'], at)
    return id
  }
  const call = (method: string, path: string) =>
    api.call(method, `/public/emails/captured${path}`, { key: api.regular })

  it('lists, returns and deletes them', async () => {
    const [first, second] = [
      await capture(Buffer.from(RAW), new Date(Date.now() - 1000)),
      await capture(Buffer.from(RAW)),
    ]
    const listed = await call('GET', '?limit=1')
    assert.strictEqual(listed.body['data']?.['total'], 2)
    assert.deepEqual(
      listOf(listed.body['data']?.['emails']).map((one) => [one['id'], one['size']]),
      [[second, RAW.length]],
    )
    const { body } = await call('GET', `/${first}`)
    assert.strictEqual(textOf(body['data']?.['html']).trim(), '<script>alert(1)</script><b>4711</b>')
    assert.match(textOf(body['data']?.['headers']), /^From: Shop/)
    assert.deepEqual(body['data']?.['attachments'], [{ filename: 'a.pdf', content_type: 'application/pdf', size: 3 }])
    assert.deepEqual((await call('DELETE', `/${first}`)).body['data'], { deleted: 1 })
    assert.strictEqual((await call('GET', `/${first}`)).status, 404)
    assert.deepEqual((await call('DELETE', '')).body['data'], { deleted: 1 })
    assert.strictEqual((await call('GET', '')).body['data']?.['total'], 0)
  })

  it('finds them by a part of the recipient, the sender or the subject', async () => {
    const id = await capture(Buffer.from(RAW))
    const found = async (search: string) =>
      listOf((await call('GET', `?search=${encodeURIComponent(search)}`)).body['data']?.['emails']).map(
        (one) => one['id'],
      )
    for (const text of ['YOUR CODE', 'ann@capture', 'sender.example']) assert.deepEqual(await found(text), [id], text)
    for (const text of ['code%', '_our code', 'nothing']) assert.deepEqual(await found(text), [], text)
    assert.strictEqual((await call('GET', '?search=')).status, 400)
    await call('DELETE', '')
  })

  it('downloads the message byte for byte', async () => {
    const raw = Buffer.from(`${RAW}\xff`, 'latin1')
    const id = await capture(raw)
    const answer = await fetch(`${api.url}/api/v1/public/emails/captured/${id}/raw`, {
      headers: { authorization: `Bearer ${api.regular}` },
    })
    assert.strictEqual(answer.headers.get('content-type'), 'message/rfc822')
    assert.strictEqual(answer.headers.get('content-disposition'), `attachment; filename="${id}.eml"`)
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), raw)
  })

  it('does not parse a large message or invalid data', async () => {
    const large = await call('GET', `/${await capture(Buffer.alloc(300_000, 'a'))}`)
    assert.deepEqual([large.status, large.body['data']?.['attachments']], [200, null])
    assert.strictEqual((await call('GET', `/${await capture(Buffer.from([0, 255, 13]))}`)).status, 200)
  })

  it('finds none of another workspace, none by an unknown id, and none after seven days', async () => {
    assert.strictEqual((await call('GET', `/${newId()}`)).status, 404)
    assert.strictEqual((await call('DELETE', '/nonsense')).status, 404)
    const id = await capture(Buffer.from(RAW), new Date(Date.now() - 8 * 86_400_000))
    await pruneInbox(api.db, new Date(Date.now() - 7 * 86_400_000))
    assert.strictEqual((await call('GET', `/${id}`)).status, 404)
  })

  it('the workspace shows its capture address', async () => {
    const { body } = await api.call('GET', '/public/workspace', { key: api.regular })
    const keyPart = /_([0-9a-f]+)\./.exec(api.regular)?.[1]
    assert.deepEqual(body['data']?.['capture'], {
      address: `${keyPart}@capture.mailstead.test`,
      domain: 'capture.mailstead.test',
    })
  })
})
