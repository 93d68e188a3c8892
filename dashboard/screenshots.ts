/**
 * Writes a picture of every page at three widths, light and dark: `npm run screenshots -- FOLDER`. It signs in to a
 * running Mailstead: MAILSTEAD_URL (http://localhost:3000), MAILSTEAD_EMAIL and MAILSTEAD_PASSWORD of an operator who
 * is a member of a workspace. Pages with an object need its address: further arguments are paths below the workspace.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { openBrowser } from '#test/support/chromium.ts'
import { OTHER_PAGES, WORKSPACE_PAGES } from './pages.ts'

const WIDTHS = [360, 768, 1440] as const
const THEMES = ['light', 'dark'] as const
/** For charts and previews, which are drawn after their data came. */
const SETTLE_MS = 1500

async function main([folder = 'screenshots', ...more]: readonly string[]): Promise<void> {
  const {
    MAILSTEAD_URL: url = 'http://localhost:3000',
    MAILSTEAD_EMAIL: email,
    MAILSTEAD_PASSWORD: password,
  } = process.env
  if (email === undefined || password === undefined)
    throw new Error('set MAILSTEAD_EMAIL and MAILSTEAD_PASSWORD to the account of an operator')
  mkdirSync(folder, { recursive: true })
  const browser = await openBrowser()
  if (browser === null) throw new Error('no Chromium was found: apt-get install chromium, or set CHROMIUM')
  for (const colorScheme of THEMES)
    for (const width of WIDTHS) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, locale: 'en-GB' })
      const workspace = await signIn(context, url, { email, password })
      const page = await context.newPage()
      const paths = [...WORKSPACE_PAGES, ...more].map((path) => `/w/${workspace}${path}`)
      for (const path of [...paths, ...OTHER_PAGES])
        await capture(page, url + path, join(folder, `${nameOf(path)}-${width}-${colorScheme}.png`))
      await context.close()
    }
  await browser.close()
}

async function signIn(context: BrowserContext, url: string, data: object): Promise<string> {
  const headers = { Origin: url }
  const login = await context.request.post(`${url}/api/v1/auth/login`, { data, headers })
  if (!login.ok()) throw new Error(`the login was refused: ${await login.text()}`)
  const me = (await (await context.request.get(`${url}/api/v1/auth/me`)).json()) as {
    readonly data: { readonly workspaces: readonly { readonly id: string }[] }
  }
  return me.data.workspaces[0]?.id ?? ''
}

async function capture(page: Page, url: string, file: string): Promise<void> {
  await page.goto(url)
  await page.locator('h1').first().waitFor()
  await page.waitForTimeout(SETTLE_MS)
  await page.screenshot({ path: file })
  process.stdout.write(`${file}\n`)
}

function nameOf(path: string): string {
  return path
    .replace(/^\/w\/[^/]+/, '')
    .replaceAll(/\W+/g, '-')
    .replace(/^-/, '')
}

await main(process.argv.slice(2))
