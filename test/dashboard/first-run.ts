/** A person comes from the link that start prints to a delivered test mail, and finds it in the figures. */
import { assert } from 'chai'
import type { Page } from 'playwright-core'
import { FIRST_OPERATOR, signIn, type Profile } from '#test/support/chromium.ts'
import type { Dashboard } from '#test/support/dashboard.ts'

/** The page reads its figures again after half of this time at the latest. */
const FIGURES_MS = 60_000

export function describeFirstRun(started: () => Dashboard): void {
  describe('first run', () => {
    const openTab = async (): Promise<{ profile: Profile; page: Page }> => {
      const profile = await started().chromium.newProfile()
      const page = await profile.newPage()
      await page.goto(started().installation.url)
      await signIn(page, FIRST_OPERATOR)
      return { profile, page }
    }

    it('leads from the printed link to a delivered test mail, without loading a page again', async () => {
      const { profile, page } = await started().openOperatorTab()
      await page.getByRole('link', { name: 'Messages' }).first().waitFor()
      await page.getByRole('heading', { name: 'Getting started', level: 1 }).waitFor()
      await page.getByText('3 of 5 done').waitFor()
      assert.strictEqual(await page.getByLabel('To', { exact: true }).inputValue(), FIRST_OPERATOR.email)
      await page.getByRole('button', { name: 'Send test mail' }).click()
      await page.getByRole('status').getByText('Delivered', { exact: true }).waitFor()
      await page.getByText('5 of 5 done').waitFor()
      assert.match(new URL(page.url()).searchParams.get('message') ?? '', /^em_[0-9a-f]{32}$/)
      await page.getByRole('link', { name: 'Open the message' }).click()
      await page.getByRole('heading', { name: 'A test mail from Mailstead', level: 1 }).waitFor()
      assert.deepEqual(profile.takeProblems(), [])

      await page.getByRole('link', { name: 'Overview', exact: true }).click()
      const receivers = page.getByRole('list', { name: 'By receiver' })
      await receivers.getByText('mailstead.test').waitFor({ timeout: 2 * FIGURES_MS })
      assert.deepEqual(profile.takeProblems(), [])
    })

    it('refuses a wrong address beside its field, and keeps what was typed', async () => {
      const { profile, page } = await openTab()
      const recipient = page.getByLabel('To', { exact: true })
      await recipient.fill('not an address')
      await page.getByRole('button', { name: 'Send test mail' }).click()
      await page.locator('input[aria-invalid="true"]').waitFor()
      assert.strictEqual(await recipient.inputValue(), 'not an address')
      assert.deepEqual(profile.takeProblems(/status of 4(?:01|22|00)/), [])
      await profile.context.close()
    })

    it('shows operators the checks of the installation, and runs them again', async () => {
      const { profile, page } = await openTab()
      await page.getByText(/^\d+ other checks$/).click()
      await page.getByRole('heading', { name: 'PostgreSQL', exact: true }).waitFor()
      const answer = page.waitForResponse(/\/admin\/checks\?refresh=true/)
      await page.getByRole('button', { name: 'Check again' }).click()
      assert.strictEqual((await answer).status(), 200)
      assert.deepEqual(profile.takeProblems(/status of 401/), [])
      await profile.context.close()
    })
  })
}
