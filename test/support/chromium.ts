/**
 * A real browser for the tests of the dashboard: Debian's Chromium without a window, driven by playwright-core. Every
 * page is watched: an uncaught error, a violation of the content security policy, or an error in the console fails the
 * test that ends next.
 */
import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

/** The headless one first: it has no window, whose parts cost as much as the page. */
const PROGRAMS = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const OPTIONS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
/** Enough for a busy machine; a test waits for what it expects, so this only bounds a failure. */
const TIMEOUT_MS = 60_000

export interface Chromium {
  /** A new profile, without cookies. */
  newProfile(options?: Parameters<Browser['newContext']>[0]): Promise<Profile>
  close(): Promise<void>
}

export interface Profile {
  readonly context: BrowserContext
  newPage(): Promise<Page>
  /** What went wrong in its pages since the last call. Answers that a test expects, such as 401, are left out. */
  takeProblems(expected?: RegExp): readonly string[]
}

/** Null where there is none: install it with `apt-get install chromium-headless-shell`, or set CHROMIUM. */
function findChromium(): string | null {
  return [process.env['CHROMIUM'] ?? '', ...PROGRAMS].find((file) => file !== '' && existsSync(file)) ?? null
}

/** Null if there is no Chromium. */
export async function openBrowser(): Promise<Browser | null> {
  const executablePath = findChromium()
  return executablePath === null ? null : chromium.launch({ executablePath, args: OPTIONS })
}

/** For a `before` hook: skips the tests without Chromium. */
export async function openChromium(test: Mocha.Context): Promise<Chromium> {
  const browser = await openBrowser()
  if (browser === null) return test.skip()
  return {
    newProfile: async (options = {}) => {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 860 },
        locale: 'en-GB',
        reducedMotion: 'reduce', // animations use a core while a test waits: nothing is drawn by a GPU
        ...options,
      })
      context.setDefaultTimeout(TIMEOUT_MS)
      const problems: string[] = []
      context.on('weberror', (error) => problems.push(`uncaught: ${error.error().stack ?? error.error().message}`))
      context.on('console', (message) => {
        if (message.type() === 'error') problems.push(`console: ${message.text()} (${message.location().url})`)
      })
      return {
        context,
        newPage: () => context.newPage(),
        takeProblems: (expected) =>
          problems.splice(0).filter((problem) => expected === undefined || !expected.test(problem)),
      }
    },
    close: () => browser.close(),
  }
}

/** Creates the account of the first operator with the printed link, and stays signed in. */
export async function joinAsFirstOperator(page: Page, joinUrl: string): Promise<void> {
  await page.goto(joinUrl)
  await page.getByLabel('Email address').fill(FIRST_OPERATOR.email)
  await page.getByLabel('Name', { exact: true }).fill(FIRST_OPERATOR.name)
  await page.getByLabel(/^Password/).fill(FIRST_OPERATOR.password)
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByRole('link', { name: 'Open the dashboard' }).click()
  await page.getByRole('navigation').first().waitFor()
}

/** Fills the form of the sign-in page, which is open. */
export async function signIn(
  page: Page,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

export const FIRST_OPERATOR = {
  email: 'anna@example.com',
  name: 'Anna Berg',
  password: 'a long password of Anna',
} as const
