/** A person signs in with a real browser; what ends a session ends it in every tab. */
import { assert } from 'chai'
import { FIRST_OPERATOR, joinAsFirstOperator, openChromium, type Chromium } from '#test/support/chromium.ts'
import { startInstallation, type Installation } from '#test/support/installation.ts'

/** A page asks who is signed in before anybody is: the browser reports the answer 401. */
const EXPECTED_401 = /status of 401/

describe('dashboard: signing in', () => {
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

  it('the link that start prints leads to an account, and into the dashboard', async () => {
    const profile = await chromium.newProfile()
    const page = await profile.newPage()
    await joinAsFirstOperator(page, installation.joinUrl)
    await page.getByRole('link', { name: 'Messages' }).first().waitFor()
    assert.deepEqual(profile.takeProblems(), [])
    await profile.context.close()
  })

  it('a wrong password is refused with a reason, the right one shows the address that was asked for', async () => {
    const profile = await chromium.newProfile()
    const page = await profile.newPage()
    await page.goto(`${installation.url}/operator/queue`)
    await page.getByLabel('Email address').fill(FIRST_OPERATOR.email)
    await page.getByLabel('Password', { exact: true }).fill('not the password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText(/wrong|do not match|not valid/i).waitFor()
    await page.getByLabel('Password', { exact: true }).fill(FIRST_OPERATOR.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText(FIRST_OPERATOR.name).first().waitFor()
    assert.strictEqual(new URL(page.url()).pathname, '/operator/queue')
    assert.deepEqual(profile.takeProblems(EXPECTED_401), [])
    await profile.context.close()
  })

  it('signing out in one tab ends the session in the other', async () => {
    const profile = await chromium.newProfile()
    const [first, second] = [await profile.newPage(), await profile.newPage()]
    await first.goto(installation.url)
    await first.getByLabel('Email address').fill(FIRST_OPERATOR.email)
    await first.getByLabel('Password', { exact: true }).fill(FIRST_OPERATOR.password)
    await first.getByRole('button', { name: 'Sign in', exact: true }).click()
    await first.getByRole('link', { name: 'Messages' }).first().waitFor()
    await second.goto(installation.url)
    await second.getByText('Live', { exact: true }).first().waitFor()
    await first.getByRole('button', { name: FIRST_OPERATOR.name }).first().click()
    await first.getByRole('menuitem', { name: 'Sign out' }).click()
    await first.getByRole('heading', { name: 'Sign in' }).waitFor()
    await second.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(profile.takeProblems(EXPECTED_401), [])
    await profile.context.close()
  })
})
