/**
 * Every page of the dashboard in a real browser: it shows its heading, nothing fails in it or violates the content
 * security policy, and axe finds no violation of WCAG 2.2 AA. The other tests here do what people do on some pages.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { assert } from 'chai'
import type { Page } from 'playwright-core'
import { OTHER_PAGES, WORKSPACE_PAGES } from '#dashboard/pages.ts'
import type { Profile } from '#test/support/chromium.ts'
import type { Dashboard } from '#test/support/dashboard.ts'

/** Every component, also those that never end to load. */
const SHOWS_LOADING = '/ui'
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Only violations are described; no rule here needs the style sheets, which axe would load again. */
const AXE_OPTIONS = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  resultTypes: ['violations'],
  preload: false,
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}

async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const found = await page.evaluate(
    `axe.run(document, ${JSON.stringify(AXE_OPTIONS)}).then((result) => result.violations)`,
  )
  return (found as readonly Violation[]).map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  )
}

export function describePages(started: () => Dashboard): void {
  describe('pages', () => {
    let profile: Profile
    let page: Page
    let base: string
    before(async () => {
      ;({ profile, page } = await started().openOperatorTab())
      base = /^\/w\/[^/]+/.exec(new URL(page.url()).pathname)?.[0] ?? ''
      assert.notStrictEqual(base, '')
    })

    const visit = async (path: string): Promise<void> => {
      await page.goto(started().installation.url + path)
      await page.locator('h1').first().waitFor()
      // queries that began have their answer, so that axe sees the page and not its skeleton
      await page.waitForLoadState('load')
      if (path !== SHOWS_LOADING) await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
      assert.deepEqual(profile.takeProblems(), [], path)
      assert.deepEqual(await findViolations(page), [], path)
    }

    for (const path of WORKSPACE_PAGES) it(`${path} of a workspace`, () => visit(base + path))
    for (const path of OTHER_PAGES) it(path, () => visit(path))

    it('in German and in the dark theme', async () => {
      await page.evaluate(() => {
        localStorage.setItem('mailstead.language', 'de')
        localStorage.setItem('mailstead.theme', 'dark')
      })
      for (const path of ['/overview', '/messages', '/domains', '/settings']) await visit(base + path)
      assert.strictEqual(await page.locator('html').getAttribute('lang'), 'de')
    })
  })
}
