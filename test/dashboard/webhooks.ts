/**
 * A person sets up a webhook that is tested, read in its log, replayed and switched off, and an inbound route that uses
 * it, with a real browser.
 */
import { assert } from 'chai'
import type { Locator } from 'playwright-core'
import { useScene } from '#test/support/dashboard-scene.ts'
import type { Dashboard } from '#test/support/dashboard.ts'
import { logInSmtp, sendMessage } from '#test/support/smtp-client.ts'
import { until } from '#test/support/until.ts'
import {
  respondWith,
  startWebhookReceiver,
  type ReceivedRequest,
  type WebhookReceiver,
} from '#test/support/webhook-receiver.ts'

const HOSTILE = '<script>document.title = "run"</script>'
const HOSTILE_MAIL = [
  'From: Ann <ann@customer.example>',
  'To: support@shop.example',
  'Subject: Order 4711',
  'Message-ID: <4711@customer.example>',
  'Date: Thu, 26 Nov 2026 12:00:00 +0000',
  'MIME-Version: 1.0',
  'Content-Type: text/html; charset=utf-8',
  '',
  `<h1>Where is it?</h1>${HOSTILE}<img src="x:" alt="" onerror="top.document.title = 'run'">`,
  '',
].join('\r\n')

export function describeWebhooks(started: () => Dashboard): void {
  describe('webhooks and inbound mail', () => {
    const scene = useScene(started)
    let receiver: WebhookReceiver
    before(async () => {
      receiver = await startWebhookReceiver()
      const domains = (await scene.call('GET', '/public/domains/get-domains')) as unknown as { domain: string }[]
      if (domains.some(({ domain }) => domain === 'shop.example')) return
      const { id } = await scene.call('POST', '/public/domains/add-domain', { domain: 'shop.example' })
      await scene.call('POST', `/public/domains/verify-domain/${String(id)}`)
    })
    after(() => receiver?.close())
    const open = (name: string): Promise<void> => scene.open(name)
    const press = (name: string): Promise<void> => scene.press(name)
    const dialog = (): Locator => scene.dialog()

    it('a webhook is made, tested, read in its log, and replayed', async () => {
      const { page } = scene
      receiver.setBehaviour(respondWith(200, HOSTILE))
      await open('Webhooks')
      await press('Add endpoint')
      await dialog().getByLabel('URL').fill(`${receiver.url}/hooks`)
      await dialog().getByRole('button', { name: 'Add endpoint' }).click()
      await page.getByText(/^whsec_/).waitFor()
      await press('I have stored it')
      await press('Send a test')
      await dialog().getByRole('button', { name: 'Send the test' }).click()
      await dialog().getByText('HTTP 200').first().waitFor()
      await dialog().getByText(HOSTILE).waitFor()
      const eventId = new URL(page.url()).searchParams.get('event') ?? ''
      await dialog().getByRole('button', { name: 'Send again' }).click()
      await dialog().getByRole('heading', { name: 'Attempt 2' }).waitFor()
      assert.strictEqual(postsOf(eventId).length, 2)
      assert.notStrictEqual(await page.title(), 'run')
      await page.keyboard.press('Escape')
    })

    it('the webhook is switched off and on', async () => {
      const { page } = scene
      await press('More actions')
      await page.getByRole('menuitem', { name: 'Switch off' }).click()
      await page.getByText('This endpoint is switched off').waitFor()
      await press('Switch on')
      await page.getByText('This endpoint is switched off').waitFor({ state: 'detached' })
      await page.getByText('On', { exact: true }).waitFor()
    })

    it('an inbound route is made; its mail is shown harmlessly and posted to the webhook, twice if asked', async () => {
      const { page } = scene
      await open('Inbound mail')
      await open('Routes')
      await page.getByRole('button', { name: 'New route' }).first().click()
      await dialog().getByLabel('Address').first().fill('support@shop.example')
      await dialog().getByRole('button', { name: 'Create the route' }).click()
      await page.getByText('support@shop.example', { exact: true }).waitFor()
      await open('Received mail')
      assert.match(await sendInbound('support@shop.example'), /^250/)
      await page.getByText('Order 4711').first().click()
      await page.getByRole('heading', { name: 'Order 4711' }).waitFor()
      await page.frameLocator('iframe').getByRole('heading', { name: 'Where is it?' }).waitFor()
      await press('Send the webhook again')
      const posted = () => receiver.requests.filter(({ body }) => body.includes('"email.received"'))
      await until(
        () => posted().length >= 2,
        () => `${posted().length} posts of the received mail`,
      )
      assert.include(posted()[0]?.body, 'Order 4711')
      assert.notStrictEqual(await page.title(), 'run')
    })

    it('the link to an address that the route forwards to is sent again, but not at once', async () => {
      const { page } = scene
      await open('Inbound mail')
      await open('Routes')
      await page.getByText('support@shop.example', { exact: true }).click()
      await dialog().getByLabel('Forward to').fill('carl@outside.example')
      await dialog().getByLabel('Forward to').press('Enter')
      await dialog().getByRole('button', { name: 'Save' }).click()
      await page.getByText('carl@outside.example (not confirmed)').waitFor()
      await page.getByText('support@shop.example', { exact: true }).click()
      await dialog().getByRole('button', { name: 'Send the link to carl@outside.example again' }).click()
      await page.getByText('A link was sent less than 10 minutes ago.').first().waitFor()
      assert.match(scene.profile.takeProblems().join(), /429/)
      await page.keyboard.press('Escape')
    })

    function postsOf(eventId: string): readonly ReceivedRequest[] {
      return receiver.requests.filter(({ headers }) => headers['webhook-id'] === eventId)
    }

    async function sendInbound(to: string): Promise<string> {
      const connection = await logInSmtp(scene.installation.inboundPort, null)
      try {
        return await sendMessage(connection, { from: 'ann@customer.example', to, content: HOSTILE_MAIL })
      } finally {
        connection.disconnect()
      }
    }
  })
}
