/**
 * People of a workspace with a real browser: a passkey, an identity provider (oidc-provider), and a role that may only
 * look.
 */
import { assert } from 'chai'
import type { Page } from 'playwright-core'
import { WORKSPACE_PAGES } from '#dashboard/pages.ts'
import { FIRST_OPERATOR, signIn } from '#test/support/chromium.ts'
import { requestsTo } from '#test/support/dashboard-scene.ts'
import type { Dashboard } from '#test/support/dashboard.ts'
import type { Person } from '#test/support/identity-server.ts'

/** A page asks who is signed in before anybody is: the browser reports the answer 401. */
const EXPECTED_401 = /status of 401/
/** Who signs in at the identity provider, which is called Corp. */
export const VIEWER: Person & { readonly name: string; readonly email: string } = {
  sub: 'viktor',
  email: 'viktor@corp.example',
  email_verified: true,
  name: 'Viktor Wind',
}
/** Buttons of pages that a viewer may use: filters, pages, copies, downloads, and the way out. */
const HARMLESS = /^(?:Filter|Any time|Load more|CSV|Leave this workspace|Copy.*)$/

export function describePeople(started: () => Dashboard): void {
  describe('people', () => {
    before('an account exists', () => started().openOperatorTab())

    it('who is invited joins with an identity provider, and comes back with it', async () => {
      const profile = await started().chromium.newProfile()
      const page = await profile.newPage()
      await page.goto(await invite(VIEWER.email))
      await page.getByRole('button', { name: 'Join with Corp' }).click()
      await page.getByText(VIEWER.name).first().waitFor()
      await signOut(page)
      await page.getByRole('button', { name: 'Continue with Corp' }).click()
      await page.getByRole('link', { name: 'Messages' }).first().waitFor()
      assert.deepEqual(profile.takeProblems(EXPECTED_401), [])
      await profile.context.close()
    })

    it('a viewer sees pages and no action, and is asked for nothing that is refused', async () => {
      const profile = await started().chromium.newProfile()
      const page = await profile.newPage()
      await page.goto(started().installation.url)
      await page.getByRole('button', { name: 'Continue with Corp' }).click()
      await page.getByRole('link', { name: 'Messages' }).first().waitFor()
      profile.takeProblems(EXPECTED_401)
      const base = /^\/w\/[^/]+/.exec(new URL(page.url()).pathname)?.[0] ?? ''
      const shown: Record<string, readonly string[]> = {}
      const failed: Record<string, readonly string[]> = {}
      for (const path of WORKSPACE_PAGES) {
        await page.goto(started().installation.url + base + path)
        await page.locator('h1').first().waitFor()
        await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
        const names = await page
          .getByRole('main')
          .getByRole('button')
          .evaluateAll((buttons) => buttons.map((one) => (one.closest('th') === null ? one.textContent : '')))
        const offered = names.map((name) => name.trim()).filter((name) => name !== '' && !HARMLESS.test(name))
        if (offered.length > 0) shown[path] = offered
        const problems = profile.takeProblems()
        if (problems.length > 0) failed[path] = problems
      }
      assert.deepEqual(shown, {})
      assert.deepEqual(failed, {})
      await page.goto(`${started().installation.url}/operator/queue`)
      await page.getByText('This page does not exist').waitFor()
      assert.deepEqual(profile.takeProblems(), [])
      await profile.context.close()
    })

    // last, because it ends the other sessions of the operator
    it('a passkey is added, signs in without a password, and is the second factor after it', async () => {
      const profile = await started().chromium.newProfile()
      const page = await profile.newPage()
      await addAuthenticator(page)
      await enterPassword(page)
      await page.getByRole('link', { name: 'Messages' }).first().waitFor()
      await page.goto(`${started().installation.url}/account`)
      await page.getByRole('button', { name: 'Add a passkey' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name of the passkey').fill('Laptop')
      await dialog.getByRole('button', { name: 'Add a passkey' }).click()
      await page.getByText('Passkey · Laptop').waitFor()
      await page.getByRole('link', { name: 'Back' }).click()
      await signOut(page)
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await signOut(page)
      await enterPassword(page)
      await page.getByRole('button', { name: 'Use a passkey' }).waitFor()
      assert.strictEqual(await page.getByLabel('Code').count(), 0)
      await page.getByRole('button', { name: 'Use a passkey' }).click()
      await page.getByRole('link', { name: 'Messages' }).first().waitFor()
      assert.deepEqual(profile.takeProblems(EXPECTED_401), [])
      await profile.context.close()
    })

    async function enterPassword(page: Page): Promise<void> {
      await page.goto(started().installation.url)
      await signIn(page, FIRST_OPERATOR)
    }

    async function signOut(page: Page): Promise<void> {
      await page
        .getByRole('button', { name: /Anna Berg|Viktor Wind/ })
        .first()
        .click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    }

    /** The link, as the mail that arrives has it; without a domain that may send, the dialog shows it. */
    async function invite(email: string): Promise<string> {
      const profile = await started().chromium.newProfile()
      const page = await profile.newPage()
      await enterPassword(page)
      await page.getByRole('link', { name: 'Team' }).click()
      await page.getByRole('button', { name: 'Invite' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Email address').fill(email)
      await dialog.getByRole('radio', { name: /^Viewer/ }).click()
      await dialog.getByRole('button', { name: 'Send the invitation' }).click()
      const link = dialog.getByText(/\/join\//)
      await link.or(page.getByText('The invitation is on its way')).first().waitFor()
      const shown = (await link.count()) === 0 ? null : await link.textContent()
      assert.deepEqual(profile.takeProblems(EXPECTED_401), [])
      await profile.context.close()
      if (shown !== null) return shown
      const mail = await requestsTo(started().installation).captured(email)
      return /http:[^\s"<]*\/join\/[\w-]+/.exec(mail)?.[0] ?? ''
    }
  })
}

/** An authenticator of the browser that knows its owner. */
async function addAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}
