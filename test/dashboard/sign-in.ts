/** A person signs in with a real browser; what ends a session ends it in every tab. */
import { assert } from 'chai'
import { FIRST_OPERATOR, signIn } from '#test/support/chromium.ts'
import type { Dashboard } from '#test/support/dashboard.ts'

/** A page asks who is signed in before anybody is: the browser reports the answer 401. */
const EXPECTED_401 = /status of 401/

export function describeSignIn(started: () => Dashboard): void {
  describe('signing in', () => {
    before('an account exists', () => started().openOperatorTab())

    it('a wrong password is refused with a reason, the right one shows the address that was asked for', async () => {
      const profile = await started().chromium.newProfile()
      const page = await profile.newPage()
      await page.goto(`${started().installation.url}/operator/queue`)
      await signIn(page, { ...FIRST_OPERATOR, password: 'not the password' })
      await page.getByText(/wrong|do not match|not valid/i).waitFor()
      await page.getByLabel('Password', { exact: true }).fill(FIRST_OPERATOR.password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByText(FIRST_OPERATOR.name).first().waitFor()
      assert.strictEqual(new URL(page.url()).pathname, '/operator/queue')
      assert.deepEqual(profile.takeProblems(EXPECTED_401), [])
      await profile.context.close()
    })

    it('signing out in one tab ends the session in the other', async () => {
      const profile = await started().chromium.newProfile()
      const [first, second] = [await profile.newPage(), await profile.newPage()]
      await first.goto(started().installation.url)
      await signIn(first, FIRST_OPERATOR)
      await first.getByRole('link', { name: 'Messages' }).first().waitFor()
      await second.goto(started().installation.url)
      await second.getByText('Live', { exact: true }).first().waitFor()
      await first.getByRole('button', { name: FIRST_OPERATOR.name }).first().click()
      await first.getByRole('menuitem', { name: 'Sign out' }).click()
      await first.getByRole('heading', { name: 'Sign in' }).waitFor()
      await second.getByRole('heading', { name: 'Sign in' }).waitFor()
      assert.deepEqual(profile.takeProblems(EXPECTED_401), [])
      await profile.context.close()
    })
  })
}
