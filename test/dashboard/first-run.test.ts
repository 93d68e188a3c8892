/** A person comes from the link that start prints to a delivered test mail, and finds it in the figures. */
import { assert } from 'chai'
import { FIRST_OPERATOR, joinAsFirstOperator, openChromium, type Chromium } from '#test/support/chromium.ts'
import { startInstallation, type Installation } from '#test/support/installation.ts'

/** The page reads its figures again after half of this time at the latest. */
const FIGURES_MS = 60_000

describe('dashboard: first run', () => {
  let chromium: Chromium
  let installation: Installation
  before(async function () {
    this.timeout(300_000)
    chromium = await openChromium(this)
    installation = await startInstallation()
  })
  after(async () => {
    await chromium?.close()
    await installation?.stop()
  })

  it('leads from the printed link to a delivered test mail, without loading a page again', async () => {
    const profile = await chromium.newProfile()
    const page = await profile.newPage()
    await joinAsFirstOperator(page, installation.joinUrl)
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
    await profile.context.close()
  })

  it('refuses a wrong address beside its field, and keeps what was typed', async () => {
    const profile = await chromium.newProfile()
    const page = await profile.newPage()
    await page.goto(installation.url)
    await page.getByLabel('Email address').fill(FIRST_OPERATOR.email)
    await page.getByLabel('Password', { exact: true }).fill(FIRST_OPERATOR.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    const recipient = page.getByLabel('To', { exact: true })
    await recipient.fill('not an address')
    await page.getByRole('button', { name: 'Send test mail' }).click()
    await page.locator('input[aria-invalid="true"]').waitFor()
    assert.strictEqual(await recipient.inputValue(), 'not an address')
    assert.deepEqual(profile.takeProblems(/status of 4(?:01|22|00)/), [])
    await profile.context.close()
  })

  it('shows operators the checks of the installation, and runs them again', async () => {
    const profile = await chromium.newProfile()
    const page = await profile.newPage()
    await page.goto(installation.url)
    await page.getByLabel('Email address').fill(FIRST_OPERATOR.email)
    await page.getByLabel('Password', { exact: true }).fill(FIRST_OPERATOR.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText(/^\d+ other checks$/).click()
    await page.getByRole('heading', { name: 'PostgreSQL', exact: true }).waitFor()
    const answer = page.waitForResponse(/\/admin\/checks\?refresh=true/)
    await page.getByRole('button', { name: 'Check again' }).click()
    assert.strictEqual((await answer).status(), 200)
    assert.deepEqual(profile.takeProblems(/status of 401/), [])
    await profile.context.close()
  })
})
