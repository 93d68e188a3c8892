/**
 * Tracked mail and mail with an unsubscribe link, through all processes: what the message contains, what a reader
 * does, and which events are recorded.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import { listOf, textOf, type Json } from '#test/support/api.ts'
import { addAudience, addMembers, createCampaignClient } from '#test/support/campaign.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const BROWSER = {
  'user-agent':
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
}
/** What comes sooner is a scanner in front of the mailbox. */
const READ_AFTER_MS = 2500
const HTML =
  '<p>Hi</p><a href="https://shop.example/?a=1&amp;b=2">Go</a> ' +
  '<a href="https://shop.example/plain" data-no-track>Plain</a>'

describe('tracked mail', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed()
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  interface Mail {
    readonly raw: string
    readonly html: string
    readonly text: string
  }
  async function arrived(mx: Awaited<ReturnType<Testbed['addReceiver']>>, to: string): Promise<Mail> {
    const find = (): Buffer | undefined => mx.messages.find((message) => message.to.includes(to))?.bytes
    await until(
      () => Promise.resolve(find() !== undefined),
      () => `no mail for ${to}`,
    )
    const bytes = find() ?? Buffer.alloc(0)
    const mail = await simpleParser(bytes)
    return { raw: bytes.toString('latin1'), html: mail.html || '', text: mail.text ?? '' }
  }
  const visit = (url: string): Promise<Response> => fetch(url, { redirect: 'manual', headers: BROWSER })
  const linksOf = ({ html }: Mail): { pixel: string; click: string } => ({
    pixel: /<img src="([^"]+\/o\/[^"]+)"/.exec(html)?.[1] ?? '',
    click: /<a href="([^"]+\/c\/[^"]+)"/.exec(html)?.[1] ?? '',
  })
  async function events(type: string): Promise<Json[]> {
    const { body } = await testbed.system.call('GET', `/public/events?types=${type}&limit=1000`, {
      key: testbed.system.admin,
    })
    return listOf(body['data']?.['events'])
  }
  const eventsOf = async (type: string, recipient: string): Promise<Json[]> =>
    (await events(type)).filter((event) => textOf(event['recipient']) === recipient)

  it('redirects to the original link, and hits are recorded also when the api is killed afterwards', async () => {
    const mx = await testbed.addReceiver('read.example')
    const { body } = await testbed.system.call('POST', '/send-email/instant', {
      body: {
        from: 'shop@sender.example',
        to: 'ann@read.example',
        subject: 'x',
        html: HTML,
        track_opens: true,
        track_clicks: true,
      },
    })
    assert.strictEqual(body['success'], true)
    const mail = await arrived(mx, 'ann@read.example')
    assert.ok(mail.html.includes('href="https://shop.example/plain" data-no-track'))
    assert.ok(mail.text.includes('https://shop.example/?a=1&b=2'))
    assert.notMatch(mail.raw, /^list-unsubscribe/im)
    await sleep(READ_AFTER_MS)
    const { pixel, click } = linksOf(mail)
    assert.strictEqual((await visit(pixel)).headers.get('content-type'), 'image/gif')
    assert.strictEqual((await visit(click)).headers.get('location'), 'https://shop.example/?a=1&b=2')
    await testbed.system.roles.api.kill()
    await testbed.system.startMissing()
    await until(
      async () => (await eventsOf('email.clicked', 'ann@read.example')).length > 0,
      () => 'the click was not reported',
      30_000,
    )
    const [clicked, opened] = [
      await eventsOf('email.clicked', 'ann@read.example'),
      await eventsOf('email.opened', 'ann@read.example'),
    ]
    assert.deepEqual(
      [...clicked, ...opened].map((event) => [event['machine'] as unknown, event['url'] as unknown]),
      [
        [false, 'https://shop.example/?a=1&b=2'],
        [false, undefined],
      ],
    )
  })

  it('of a campaign: both headers are signed, opens and clicks are counted, one click unsubscribes', async () => {
    const mx = await testbed.addReceiver('list.example')
    const campaigns = createCampaignClient(testbed.system)
    const audience = await addAudience(testbed.system)
    await addMembers(testbed.system, audience, { count: 2, domain: 'list.example' })
    const send = async (): Promise<string> => {
      const id = await campaigns.create({
        audience_ids: [audience],
        html: `${HTML}<a href="{{unsubscribeUrl}}">leave</a> <a href="{{viewInBrowserUrl}}">view</a>`,
      })
      await campaigns.move(id, 'start')
      await campaigns.settle(id)
      return id
    }
    const id = await send()
    const mail = await arrived(mx, 'c1@list.example')
    assert.match(
      mail.raw.replaceAll(/\r\n[ \t]+/g, ' '),
      /^DKIM-Signature:[^\r]*\bh=[^;]*list-unsubscribe ?:[^;]*list-unsubscribe-post/im,
    )
    const unfolded = mail.raw.replaceAll(/\r\n[ \t]+/g, ' ')
    assert.match(unfolded, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
    const [, https = '', mailto = ''] = /^List-Unsubscribe: <(https?:[^>]+)>, <(mailto:[^>]+)>\r$/m.exec(unfolded) ?? []
    assert.strictEqual(linksOf(mail).pixel, '', 'a short mail has no image, unless somebody asks for it')
    assert.ok(mail.html.includes(`href="${https}"`), 'the link in the mail is that of the header, and is not wrapped')
    assert.match(mailto, /^mailto:u-[a-z2-7]{61}@/)
    await sleep(READ_AFTER_MS)
    await visit(linksOf(mail).click)
    const shown = await visit(/<a href="([^"]+\/v\/[^"]+)"/.exec(mail.html)?.[1] ?? '')
    assert.match(await shown.text(), /<a href="https:\/\/shop\.example\/\?a=1&amp;b=2">Go/)
    const left = await fetch(https, {
      method: 'POST',
      body: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    assert.strictEqual(left.status, 200)
    await until(
      async () => {
        const { opened, clicked, unsubscribed } = await campaigns.metrics(id)
        return opened === 1 && clicked === 1 && unsubscribed === 1
      },
      () => 'the numbers do not come',
    )
    const before = mx.messages.length
    await send()
    assert.deepEqual(
      mx.messages.slice(before).flatMap(({ to }) => to),
      ['c2@list.example'],
    )
  })

  it('by the API in bulk: one click stops bulk mail to this address, and other mail still arrives', async () => {
    const mx = await testbed.addReceiver('bulk.example')
    const send = async (tier: string, subject: string): Promise<void> => {
      const to = ['ann@bulk.example', 'rob@bulk.example']
      const message = { from: 'shop@sender.example', to, subject, html: HTML }
      const { body } = await testbed.system.call('POST', `/send-email/${tier}`, { body: message })
      assert.strictEqual(body['success'], true)
    }
    await send('bulk', 'News')
    const unfolded = (await arrived(mx, 'ann@bulk.example')).raw.replaceAll(/\r\n[ \t]+/g, ' ')
    assert.match(unfolded, /^DKIM-Signature:[^\r]*\bh=[^;]*list-unsubscribe ?:[^;]*list-unsubscribe-post/im)
    assert.match(unfolded, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
    const link = /^List-Unsubscribe: <(https?:[^>]+)>\r$/m.exec(unfolded)?.[1] ?? ''
    const answer = await fetch(link, { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) })
    assert.strictEqual(answer.status, 200)
    await send('bulk', 'More news')
    await send('instant', 'Your code')
    const received = (): string[] =>
      mx.messages.map(({ to, bytes }) => `${to.join()} ${/^Subject: (.*)\r$/m.exec(bytes.toString('latin1'))?.[1]}`)
    await until(
      () => Promise.resolve(received().length >= 5),
      () => received().join('\n'),
    )
    assert.deepEqual(
      received()
        .filter((one) => one.startsWith('ann'))
        .toSorted(),
      ['ann@bulk.example News', 'ann@bulk.example Your code'],
    )
  })
})
