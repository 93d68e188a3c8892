/**
 * A person writes a template with blocks, sends a test to the sandbox, edits it as code, and compares its versions,
 * with a real browser.
 */
import { assert } from 'chai'
import type { FrameLocator, Locator } from 'playwright-core'
import { useScene } from '#test/support/dashboard-scene.ts'
import type { Dashboard } from '#test/support/dashboard.ts'

const HOSTILE =
  '<h1>Hostile</h1><script>top.document.title = "run"</script><p onclick="top.document.title = 1">{{firstName}}</p>' +
  '<img src="x:" alt="" onerror="top.document.title = 1"><a href="javascript:top.document.title = 1">here</a>'
/** Wide enough for the editor beside the preview. */
const WIDE = { width: 1440, height: 1000 }

export function describeTemplates(started: () => Dashboard): void {
  describe('templates', () => {
    const scene = useScene(started)
    before(() => scene.page.setViewportSize(WIDE))
    after(() => scene.page.setViewportSize({ width: 1280, height: 860 }))
    const mail = (): FrameLocator => scene.page.frameLocator('section[aria-label="Preview"] iframe')
    const code = (): Locator => scene.page.getByRole('textbox', { name: 'HTML' })

    it('one is written with blocks, by pointer and by keys, and shown as it will arrive', async () => {
      const { page } = scene
      await scene.open('Templates')
      await scene.open('New template')
      await page.getByRole('link', { name: /^Blocks/ }).click()
      await page.getByLabel('Name', { exact: true }).fill('Spring letter')
      await page.getByLabel('Subject', { exact: true }).fill('Spring for {{firstName}}')
      await page.getByRole('button', { name: /^Heading: Hello/ }).click()
      await page.getByRole('textbox', { name: 'Text', exact: true }).fill('A **bold** <script>alert(1)</script> letter')
      await scene.press('Divider')
      await page.getByRole('button', { name: /^Heading: A/ }).focus()
      await page.keyboard.press('Enter')
      await page.keyboard.press('Alt+ArrowDown')
      await page.getByText('Block moved').waitFor({ state: 'attached' })
      const faces = page
        .getByRole('group', { name: /^Blocks/ })
        .getByRole('button', { name: /^(Heading|Divider|Text):/ })
      assert.match((await faces.first().getAttribute('aria-label')) ?? '', /^Divider/)
      await mail().getByText('<script>alert(1)</script>').waitFor()
      await mail().locator('strong', { hasText: 'bold' }).waitFor()
      await save(1)
    })

    it('it is sent as a test, which arrives in the sandbox', async () => {
      const { page } = scene
      await scene.press('Send a test')
      await scene.dialog().getByText('Your verified domains').waitFor()
      await scene.dialog().getByRole('button', { name: 'Send', exact: true }).click()
      await page
        .getByText(/^Test on its way/)
        .first()
        .waitFor()
      assert.include(await scene.captured('[Test] Spring for Ada'), 'letter')
    })

    it('it becomes code once, after a question, and hostile HTML in it does nothing', async () => {
      const { page } = scene
      await scene.press('Edit as code')
      await scene.dialog().getByRole('button', { name: 'Switch to code' }).click()
      await write(HOSTILE)
      await mail().getByRole('heading', { name: 'Hostile' }).waitFor()
      await mail().getByText('Ada').click()
      await mail().getByText('here').click({ noWaitAfter: true })
      assert.notInclude(['run', '1'], await page.title())
      await save(2)
    })

    it('a mistake is named with its line, beside the code', async () => {
      const { page, profile } = scene
      await write('<p>a</p>\n{{#if a}}<p>b</p>')
      await page.getByText(/cannot be rendered: .*line 2/).waitFor()
      await page.locator('.cm-lint-marker-error').first().waitFor()
      await write('<p>a</p>\n<p>b {{unsubscribeUrl}}</p>')
      // what is saved renders its picture again, which must not be the one with the mistake: its answer may come late
      await mail().locator('p', { hasText: /^b / }).waitFor()
      await save(3)
      // the preview was refused while the mistake was there
      const unexpected = profile.takeProblems(/status of 400/)
      assert.deepEqual(unexpected, [])
    })

    it('its versions are compared, and an earlier one with its blocks is restored', async () => {
      const { page } = scene
      await page.getByRole('link', { name: /^Versions/ }).click()
      const comparison = page.getByRole('region', { name: 'Body' })
      await comparison.getByText('<p>b {{unsubscribeUrl}}</p>').waitFor()
      await comparison.getByText(/<h1>Hostile<\/h1>/).waitFor()
      await scene.press('Restore version 1')
      await scene.dialog().getByRole('button', { name: 'Restore' }).click()
      await page.getByText('Version 4 saved').first().waitFor()
      await scene.open('Edit')
      await page.getByRole('button', { name: /^Heading: A/ }).waitFor()
    })

    async function write(text: string): Promise<void> {
      await code().click()
      await scene.page.keyboard.press('ControlOrMeta+a')
      // text in the place of other text gets its style from the browser, which the policy refuses
      await scene.page.keyboard.press('Delete')
      await scene.page.keyboard.insertText(text)
    }

    async function save(version: number): Promise<void> {
      await scene.page.getByRole('button', { name: /^Save (template|version)$/ }).click()
      await scene.page.getByText(`Version ${version} saved`).first().waitFor()
    }
  })
}
