/**
 * An installation that sends to other servers, in a real browser: a domain is verified by DNS, what remote servers
 * reply and what mail contains is only shown, and a destination is suspended and resumed.
 */
import { assert } from 'chai'
import { FIRST_OPERATOR } from '#test/support/chromium.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { dmarcMessageOf, dmarcXmlOf, type XmlRow } from '#test/support/dmarc-report-mail.ts'
import { useScene, type Answer } from '#test/support/dashboard-scene.ts'
import { useDashboard } from '#test/support/dashboard.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { dsnOf } from '#test/support/reports.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'
import { SIGNER_MAIL_RECORD, signMessage } from '#test/support/tls-report-mail.ts'
import { until } from '#test/support/until.ts'

const SCRIPT = '<script>document.title="owned"</script><img src=x onerror=alert(1)>'
const DOMAIN = 'hostile.example'
const NULL_MX_DOMAIN = 'nomail.example'
const HOSTILE_HTML = [
  '<h1>Look</h1><script>top.document.title="owned"</script>',
  '<style>@import url("https://tracker.example/a.css");</style>',
  '<link rel="stylesheet" href="https://tracker.example/b.css"><img src="https://tracker.example/pixel.gif" alt="">',
  '<img src="x:" alt="" onerror="top.document.title=\'owned\'"><div style="background:url(https://tracker.example/c)">',
  '<form action="https://tracker.example/steal"><input name="p"></form>',
  '<iframe src="https://tracker.example/d"></iframe>',
  '<meta http-equiv="refresh" content="0;url=https://tracker.example/e"><a href="javascript:alert(1)">press</a></div>',
].join('')

describe('dashboard: remote servers', () => {
  let dns: TestDns
  let receiver: Receiver
  let sendingKey: string
  const started = useDashboard(async () => {
    dns = await startDns({
      'shop.example': {},
      's1._domainkey.receiver.example': { TXT: [SIGNER_MAIL_RECORD] },
      [NULL_MX_DOMAIN]: { MX: [[0, '.']] },
    })
    // a deferral, so that mail stays in the queue, a refusal, and mail that is accepted
    const replies: Readonly<Record<string, string>> = { wait: `450 4.2.0 ${SCRIPT}`, refused: `550 5.1.1 ${SCRIPT}` }
    receiver = await startReceiver({ on: { rcpt: ({ address }) => replies[address.split('@')[0] ?? ''] } })
    // without the haste of other tests: deferred mail must not expire while it is looked at
    const retries = { RETRY_SCALE: '1' }
    return { ...retries, DNS_SERVERS: dns.server, ROUTES: `${DOMAIN}=smtp://127.0.0.1:${receiver.port}` }
  })
  const scene = useScene(started)
  const asked: string[] = []
  before(() => {
    const { page, installation } = scene
    page.on('dialog', (dialog) => {
      asked.push(`dialog ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(installation.url) && !/^(?:data|blob):/.test(request.url()))
        asked.push(request.url())
    })
  })
  after(async () => {
    await receiver?.stop()
    await dns?.stop()
  })
  afterEach(async () => {
    assert.deepEqual(asked, [])
    assert.notInclude(await scene.page.title(), 'owned')
  })

  it('a domain waits for DNS, is verified once its records are there, and sends with a key', async () => {
    const { page } = scene
    await scene.open('Domains')
    await scene.press('Add domain')
    await scene.dialog().getByLabel('Domain name').fill('shop.example')
    await scene.dialog().getByRole('button', { name: 'Add domain' }).click()
    await page.getByText('Waiting for DNS', { exact: true }).first().waitFor()
    const [domain] = (await scene.call('GET', '/public/domains/get-domains')) as unknown as {
      dns_records: DnsRecord[]
    }[]
    for (const { type, name, value } of domain?.dns_records ?? [])
      if (type === 'TXT') dns.zone[name] = { TXT: [value], ttl: 0 }
      else if (type === 'CNAME') dns.zone[name] = { CNAME: value, ttl: 0 }
    await scene.press('Check now')
    await page.getByText('Verified', { exact: true }).first().waitFor()
    await scene.open('Create sending key')
    await scene.dialog().getByLabel('Name').fill('Shop')
    await scene.dialog().getByRole('combobox', { name: 'Sender' }).getByText('shop.example').waitFor()
    await scene.dialog().getByRole('button', { name: 'Create sending key' }).click()
    await page.getByRole('heading', { name: 'The key “Shop” is ready' }).waitFor()
    sendingKey = (await scene.dialog().locator('code').first().textContent()) ?? ''
    await scene.press('I have stored it')
    await send(`wait@${DOMAIN}`, '<p>Hello</p>')
    await send(`refused@${DOMAIN}`, '<p>Hello</p>')
    await send(`hostile@${DOMAIN}`, HOSTILE_HTML)
  })

  it('the reply of a receiver that refuses is shown as text, with the SMTP dialog', async () => {
    const { page } = scene
    await scene.open('Messages')
    await page
      .getByRole('row')
      .filter({ hasText: `refused@${DOMAIN}` })
      .getByText('Bounced')
      .waitFor()
    await page.getByText(`refused@${DOMAIN}`).first().click()
    await page.getByText(SCRIPT).first().waitFor()
    await page.getByRole('link', { name: /^SMTP ?1/ }).click()
    await page.getByText(SCRIPT).first().waitFor()
    assert.strictEqual(await page.locator('img[src="x"]').count(), 0)
  })

  it('HTML of a mail is shown without running, loading or leaving anything', async () => {
    const { page } = scene
    await scene.open('Messages')
    await page
      .getByRole('row')
      .filter({ hasText: `hostile@${DOMAIN}` })
      .getByText('Delivered')
      .waitFor()
    await page.getByText(`hostile@${DOMAIN}`).first().click()
    await scene.open('Content')
    const mail = page.frameLocator('iframe')
    await mail.getByRole('heading', { name: 'Look' }).waitFor()
    await mail.getByText('press').click({ noWaitAfter: true })
    await mail.getByRole('heading', { name: 'Look' }).waitFor()
  })

  it('a DMARC report is read by source as it arrives, with what to do next', async () => {
    const { page } = scene
    await scene.open('Domains')
    await scene.open('shop.example')
    await scene.open('DMARC and policies')
    await page.getByText('No reports yet').waitFor()
    await report([
      { address: '192.0.2.10', messages: 90, dkim: true, spf: true },
      { address: '203.0.113.66', messages: 10 },
    ])
    const sources = page.getByRole('row')
    await sources.filter({ hasText: '192.0.2.10' }).getByText('100%').waitFor()
    await sources.filter({ hasText: '203.0.113.66' }).getByText('0%').waitFor()
    await page.getByText('90%').first().waitFor()
  })

  it('the queue shows a hostile deferral as text, and why the mail waits', async () => {
    const { page, installation } = scene
    await page.goto(`${installation.url}/operator/queue`)
    const row = page.getByRole('row').filter({ hasText: `wait@${DOMAIN}` })
    await row.getByText('Deferred').waitFor()
    await row.getByText(SCRIPT).waitFor()
    await row.getByText(`wait@${DOMAIN}`).first().click()
    await scene.dialog().getByText(SCRIPT).first().waitFor()
    await page.keyboard.press('Escape')
    assert.strictEqual(await page.locator('img[src="x"]').count(), 0)
  })

  it('a destination is suspended, with the number of mails that wait for it, and resumed', async () => {
    const { page, installation } = scene
    await page.goto(`${installation.url}/operator/queue?view=suspensions&suspend=domain&subject=${DOMAIN}`)
    await scene.dialog().getByText('Waiting for it now: 1 recipient.').waitFor()
    await scene.dialog().getByRole('button', { name: 'Suspend mail' }).click()
    await page.getByRole('row').filter({ hasText: DOMAIN }).getByRole('button', { name: 'Resume' }).click()
    await scene.dialog().getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Nothing is suspended').waitFor()
  })

  it('a review of suppressions is started, says who did it, and ends without loading the page again', async () => {
    const { page, installation } = scene
    await page.goto(`${installation.url}/operator/held`)
    await scene.open('Reviews of suppressions')
    await page.getByText('No reviews in the last day').waitFor()
    await scene.press('Start a review')
    await scene.dialog().getByRole('radio', { name: 'List them' }).waitFor()
    await scene.dialog().getByRole('button', { name: 'Start a review' }).click()
    await page.getByRole('heading', { name: 'Review of suppressions', level: 1 }).waitFor()
    // the address that refused is right to be on the list
    await page.getByText('Done', { exact: true }).waitFor()
    const bar = '[role="progressbar"][aria-valuetext="1 of 1 entry checked"][aria-valuenow="100"]'
    await page.locator(bar).waitFor()
    await page.getByText('Today the same addresses would be suppressed.').waitFor()
    await page.getByText(`${FIRST_OPERATOR.email}, from `).waitFor()
    await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link').click()
    await page.getByRole('row').filter({ hasText: FIRST_OPERATOR.email }).locator(bar).waitFor()
  })

  it('the node is shown with its processes', async () => {
    const { page, installation } = scene
    await page.goto(`${installation.url}/operator/nodes`)
    await page.getByText('Running', { exact: true }).first().waitFor()
    await page.getByText('outbound', { exact: true }).first().waitFor()
  })

  it('a suppression that needs one more bounce appears among the held ones by itself', async () => {
    const { page, installation } = scene
    await page.goto(`${installation.url}/operator/held`)
    await page.getByText('No suppressions are held').waitFor()
    await send(`nobody@${NULL_MX_DOMAIN}`, '<p>Hello</p>')
    await page.getByRole('row').filter({ hasText: NULL_MX_DOMAIN }).getByText('One more bounce is needed').waitFor()
  })

  it('a late bounce appears in the list of reports by itself', async () => {
    const { page, installation } = scene
    await page.goto(`${installation.url}/operator/reports`)
    await page.getByText('No reports yet').waitFor()
    const [delivered] = receiver.messages
    const content = dsnOf({ recipient: `hostile@${DOMAIN}`, status: '5.2.2', diagnostic: `552 5.2.2 ${SCRIPT}` })
    const to = delivered?.from ?? ''
    const replies = await submitMessage(installation.inboundPort, { from: '', to, content })
    assert.match(replies.at(-1) ?? '', /^250/)
    const row = page.getByRole('row').filter({ hasText: `hostile@${DOMAIN}` })
    await row.getByText('Bounce', { exact: true }).waitFor()
    await row.getByText(SCRIPT).waitFor()
  })

  /** Mails a signed report about shop.example, as a receiver does, and waits until it is stored. */
  async function report(rows: readonly XmlRow[]): Promise<void> {
    const [domain] = (await scene.call('GET', '/public/domains/get-domains')) as unknown as { id: string }[]
    const summary = async (): Promise<Answer> => scene.call('GET', `/public/domains/dmarc/${domain?.id}`)
    const { report_address: to } = (await summary()) as { readonly report_address: string }
    const xml = dmarcXmlOf({ id: '1', domain: 'shop.example', organization: '&lt;script&gt;Receiver', rows })
    const content = await signMessage(dmarcMessageOf({ xml, from: 'dmarc@receiver.example' }), 'receiver.example')
    const replies = await submitMessage(scene.installation.inboundPort, { from: 'x@receiver.example', to, content })
    assert.match(replies.at(-1) ?? '', /^250/)
    await until(
      async () => (await summary())['reports'] === 1,
      () => 'the report is not stored',
    )
  }

  async function send(to: string, html: string): Promise<void> {
    const response = await fetch(`${scene.installation.url}/api/v1/send-email/instant`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${sendingKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ from: 'hello@shop.example', to, subject: `Mail for ${to}`, html }),
    })
    assert.isTrue(response.ok, await response.text())
  }
})

interface DnsRecord {
  readonly type: string
  readonly name: string
  readonly value: string
}
