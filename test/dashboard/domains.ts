/**
 * A person sets up sending with a real browser: a domain that DNS verifies, and a key whose secret is shown once.
 */
import { assert } from 'chai'
import type { Page } from 'playwright-core'
import type { Profile } from '#test/support/chromium.ts'
import type { Dashboard } from '#test/support/dashboard.ts'
import { until } from '#test/support/until.ts'

export function describeDomains(started: () => Dashboard): void {
  describe('domains and keys', () => {
    let profile: Profile
    let page: Page
    before(async () => {
      ;({ profile, page } = await started().openOperatorTab())
    })

    const open = (name: string): Promise<void> => page.getByRole('link', { name, exact: true }).first().click()
    const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click()
    const dialog = (): ReturnType<Page['getByRole']> => page.getByRole('dialog')

    it('a domain is added, its records are shown, and it is verified', async () => {
      await open('Domains')
      await press('Add domain')
      await dialog().getByLabel('Domain name').fill('not a domain')
      await dialog().getByRole('button', { name: 'Add domain' }).click()
      await dialog().locator('[aria-invalid="true"]').waitFor()
      await dialog().getByLabel('Domain name').fill('shop.example')
      await dialog().getByRole('button', { name: 'Add domain' }).click()
      await page.getByRole('heading', { name: 'shop.example' }).waitFor()
      await page.getByText('_dmarc.shop.example', { exact: true }).waitFor()
      await press('Check now')
      await page.getByText('Verified', { exact: true }).first().waitFor()
      await open('DKIM keys')
      await page.getByText('Signs', { exact: true }).first().waitFor()
      assert.deepEqual(profile.takeProblems(/status of 400/), [])
    })

    it('the keys of a verified domain rotate, and the page says what that waits for', async () => {
      await press('More actions')
      await page.getByRole('menuitem', { name: 'Rotate DKIM keys' }).click()
      await dialog().getByRole('button', { name: 'Rotate DKIM keys' }).click()
      await page.getByText('A rotation is in progress').waitFor()
      assert.deepEqual(profile.takeProblems(), [])
    })

    it('the secret of a sending key is shown once, and sends', async () => {
      await open('Create sending key')
      await dialog().getByLabel('Name').fill('Shop')
      await dialog().getByRole('combobox', { name: 'Sender' }).getByText('shop.example').waitFor()
      await dialog().getByRole('button', { name: 'Create sending key' }).click()
      await page.getByRole('heading', { name: 'The key “Shop” is ready' }).waitFor()
      const secret = (await dialog().locator('code').first().textContent()) ?? ''
      const response = await fetch(`${started().installation.url}/api/v1/send-email/instant`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          from: 'hello@shop.example',
          to: 'ann@example.com',
          subject: 'Hello',
          body: '<p>Hello</p>',
        }),
      })
      assert.strictEqual(response.status, 200, await response.text())
      await press('I have stored it')
      await page.getByText('Send from shop.example').waitFor()
      assert.notInclude(await page.content(), secret)
      await page.reload()
      await page.getByText('Send from shop.example').waitFor()
      assert.notInclude(await page.content(), secret)
      assert.deepEqual(profile.takeProblems(), [])
    })

    it('an Admin key gets other scopes and an end, and keeps its secret', async () => {
      await press('Create Admin key')
      await dialog().getByLabel('Name').fill('Reports')
      await dialog().getByRole('checkbox', { name: 'Read statistics' }).click()
      await dialog().getByRole('button', { name: 'Create Admin key' }).click()
      await page.getByRole('heading', { name: 'The key “Reports” is ready' }).waitFor()
      const secret = (await dialog().locator('code').first().textContent()) ?? ''
      await press('I have stored it')
      await page.getByText('Reports', { exact: true }).click()
      await dialog().getByRole('button', { name: 'Change' }).click()
      const change = page.getByRole('dialog', { name: 'Change “Reports”' })
      await change.getByRole('checkbox', { name: 'Read contacts' }).click()
      await change.getByRole('checkbox', { name: 'Read statistics' }).click()
      await change.getByLabel('Expires').fill('2001-01-01T00:00')
      await change.getByRole('button', { name: 'Save' }).click()
      await change.locator('input[type="datetime-local"][aria-invalid="true"]').waitFor()
      await change.getByLabel('Expires').fill('2099-01-01T00:00')
      await change.getByRole('button', { name: 'Save' }).click()
      await dialog().getByText('contacts:read', { exact: true }).waitFor()
      await dialog().getByText('2099').waitFor()
      assert.strictEqual(await dialog().getByText('statistics:read', { exact: true }).count(), 0)
      const statusOf = async (path: string): Promise<number> => {
        const headers = { Authorization: `Bearer ${secret}` }
        return (await fetch(`${started().installation.url}/api/v1/public${path}`, { headers })).status
      }
      await until(async () => (await statusOf('/statistics')) === 403)
      assert.strictEqual(await statusOf('/segments'), 200)
      await page.keyboard.press('Escape')
      assert.deepEqual(profile.takeProblems(/status of 400/), [])
    })
  })
}
