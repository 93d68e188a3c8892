/**
 * A person imports contacts, sends them a campaign and builds an automation with a real browser; recipients follow the
 * links of the mail that arrives.
 */
import { assert } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { useScene } from '#test/support/dashboard-scene.ts'
import type { Dashboard } from '#test/support/dashboard.ts'
import { until } from '#test/support/until.ts'

const READER = 'rita@readers.example'
const ROWS = 10_000
/** A hit sooner after the delivery counts as that of a machine (src/tracking/hit-classifier.ts). */
const READING_MS = 2500
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36'

export function describeCampaigns(started: () => Dashboard): void {
  describe('contacts, campaigns and automations', () => {
    const scene = useScene(started)
    const open = (name: string): Promise<void> => scene.open(name)
    const press = (name: string): Promise<void> => scene.press(name)
    const dialog = (): Locator => scene.dialog()
    let audience = ''
    let sender = ''
    before(async () => {
      const [domain] = (await scene.call('GET', '/public/domains/get-domains')) as unknown as { domain: string }[]
      sender = `news@${domain?.domain}`
      audience = String((await scene.call('POST', '/public/audiences/add-audience', { name: 'Readers' }))['id'])
      await scene.call('POST', '/public/contacts/add-contact', {
        email: READER,
        firstName: 'Rita',
        audienceId: audience,
      })
    })

    it('10,000 contacts are imported: columns are mapped, a trial run says what happens, and it does', async () => {
      const { page } = scene
      await open('Contacts')
      await open('Import')
      await page.getByRole('combobox', { name: 'Audience' }).click()
      await page.getByRole('option', { name: 'New audience…' }).click()
      await page.getByLabel('Name of the new audience').fill('Everyone')
      await press('Create')
      await page.getByRole('combobox', { name: 'Audience' }).getByText('Everyone').waitFor()
      await page.locator('input[type="file"]').setInputFiles({
        name: 'contacts.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(csvOf(ROWS)),
      })
      await press('Next')
      const columns = page.getByRole('list', { name: 'Columns' }).getByRole('listitem')
      await columns.filter({ hasText: 'Contact' }).getByRole('combobox').getByText('Email address').waitFor()
      await columns.filter({ hasText: 'Internal' }).getByRole('combobox').click()
      await page.getByRole('option', { name: 'Do not import' }).click()
      await press('Check the file')
      await page.getByText('The file was checked').waitFor()
      await page.getByText('1 row with errors').waitFor()
      await press('Import 9,998 rows')
      const shown = await recordProgress(page)
      await page.getByRole('heading', { name: 'Import', exact: true }).waitFor()
      await page.getByText('Done', { exact: true }).first().waitFor()
      await page.getByText('10,000 rows · 100 %').waitFor()
      const values = await shown()
      assert.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
      )
      assert.isNotEmpty(
        values.filter((value) => value > 0 && value < 100),
        values.join(' '),
      )
      await open('Show the audience')
      await page.getByRole('heading', { name: 'Everyone' }).waitFor()
      await page.getByText('9,998').first().waitFor()
      await page.getByRole('searchbox').fill('person-9999@')
      await page.getByText('Person 9999').waitFor()
    })

    it('a campaign goes from a draft to completed, with an open, a click and an unsubscribe', async () => {
      const { page } = scene
      await open('Campaigns')
      await press('New campaign')
      await dialog().getByLabel('Name').fill('November')
      await dialog().getByRole('button', { name: 'Create draft' }).click()
      await page.getByRole('checkbox', { name: 'Readers' }).click()
      await page.getByText('1 recipient', { exact: true }).waitFor()
      await open('Next: What')
      await page.getByRole('radio', { name: 'Write it here' }).click()
      await page.getByLabel('Subject', { exact: true }).fill('News for {{firstName}}')
      await page
        .getByLabel('Body', { exact: true })
        .fill('<p>Hello</p><a href="https://example.com/offer">Offer</a> <a href="{{unsubscribeUrl}}">Unsubscribe</a>')
      await page.getByLabel('From address').fill(sender)
      await choose('Opens', 'On')
      await page.getByText('All changes saved').waitFor()
      await open('Next: When')
      await open('Next: Check')
      await page.getByRole('button', { name: /^Start/ }).click()
      await page.getByRole('heading', { name: 'Send to 1 recipient now?' }).waitFor()
      await dialog()
        .getByRole('button', { name: /^Start/ })
        .click()
      await page.getByText('Completed', { exact: true }).first().waitFor()
      const html = await scene.captured('News for Rita')
      const arrivedAt = Date.now()
      await until(() => Date.now() > arrivedAt + READING_MS)
      await follow(html)
      for (const name of ['Opened', 'Clicked', 'Unsubscribed'])
        await page.getByRole('listitem').filter({ hasText: name }).filter({ hasText: '1 ·' }).first().waitFor()
      await open('Recipients')
      await page.getByText(READER).first().waitFor()
    })

    it('a person is erased: the dialog follows the work, and ends at the list of contacts', async () => {
      const { page } = scene
      const email = 'gone@readers.example'
      await scene.call('POST', '/public/contacts/add-contact', { email, audienceId: audience })
      await open('Contacts')
      await page.getByRole('searchbox').fill('gone@')
      await page.getByText(email).first().click()
      await press('More actions')
      await page.getByRole('menuitem', { name: 'Erase this person' }).click()
      await dialog().getByRole('textbox').fill(email)
      await dialog().getByRole('button', { name: 'Erase' }).click()
      await page.getByRole('heading', { name: 'The person is erased.' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor()
    })

    it('the command palette begins a campaign', async () => {
      const { page } = scene
      await page.keyboard.press('Control+k')
      await page.keyboard.type('new campaign')
      await page.keyboard.press('Enter')
      await dialog().getByLabel('Name').waitFor()
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'detached' })
    })

    it('the list of campaigns asks once for all results, and a scheduled one starts after a question', async () => {
      const { page } = scene
      await scene.call('POST', '/public/contacts/add-contact', { email: 'sam@readers.example', audienceId: audience })
      const draft = await scene.call('POST', '/public/campaigns', {
        name: 'December',
        subject: 'Soon',
        body: '<p>Hello <a href="{{unsubscribeUrl}}">Unsubscribe</a></p>',
        from: sender,
        audience_ids: [audience],
      })
      await scene.call('POST', `/public/campaigns/${String(draft['id'])}/schedule`, {
        scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
      })
      await open('Campaigns')
      await page.getByRole('heading', { name: 'Campaigns' }).waitFor()
      const asked: string[] = []
      page.on('request', (request) => asked.push(new URL(request.url()).pathname))
      await page.reload()
      await page.getByRole('row').filter({ hasText: 'November' }).getByText('100').first().waitFor()
      assert.isEmpty(asked.filter((path) => /\/public\/campaigns\/[0-9a-f-]{36}$/.test(path)))
      await page.getByRole('row').filter({ hasText: 'December' }).getByText('Scheduled').waitFor()
      await page.getByText('December').first().click()
      await press('More actions')
      await page.getByRole('menuitem', { name: 'Start now' }).click()
      await page.getByRole('heading', { name: 'Send to 1 recipient now?' }).waitFor()
      await dialog()
        .getByRole('button', { name: /^Start/ })
        .click()
      await page.getByText('Completed', { exact: true }).first().waitFor()
    })

    it('an automation is built on the canvas and activated; a contact enters, gets mail, is counted', async () => {
      const { page } = scene
      await open('Automations')
      await press('New automation')
      await dialog().getByLabel('Name').fill('Welcome')
      await dialog().getByRole('button', { name: 'Create draft' }).click()
      await page.getByRole('button', { name: /^Trigger/ }).click()
      await choose('Starts on', 'Joining an audience')
      await choose('Audience', 'Readers')
      await add('Add a step at the start', 'Send email')
      await page.getByLabel('Subject', { exact: true }).fill('Welcome, {{firstName}}')
      await page.getByLabel('Body', { exact: true }).fill('<p>Hello</p>')
      await page.getByLabel('From address').fill(sender)
      await press('Activate')
      await page.getByText('Active', { exact: true }).first().waitFor()
      await scene.call('POST', '/public/contacts/add-contact', {
        email: 'nina@readers.example',
        firstName: 'Nina',
        audienceId: audience,
      })
      await scene.captured('Welcome, Nina')
      const step = page.getByRole('button', { name: /^Send email/ })
      await step.getByText('1 passed, 0 here now').waitFor()
      await page.getByRole('link', { name: /^Contacts ?\d/ }).click()
      await open('nina@readers.example')
      await page.getByText('Path of nina@readers.example').waitFor()
      await page.locator('.flow-edge-passed').first().waitFor({ state: 'attached' })
    })

    async function choose(field: string, option: string): Promise<void> {
      await scene.page.getByRole('combobox', { name: field }).click()
      await scene.page.getByRole('option', { name: option, exact: true }).click()
    }

    async function add(place: string, type: string): Promise<void> {
      await press(place)
      await scene.page.getByRole('menuitem', { name: type, exact: true }).click()
    }

    /** Loads the image, follows the link and unsubscribes, as a reader does. */
    async function follow(html: string): Promise<void> {
      const find = (pattern: RegExp): string => (pattern.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')
      const headers = { 'User-Agent': BROWSER }
      await fetch(find(/<img[^>]+src="([^"]+)"/), { headers })
      await fetch(find(/href="([^"]+)"[^>]*>Offer/), { headers, redirect: 'manual' })
      const reader = await scene.profile.newPage()
      await reader.goto(find(/href="([^"]+)"[^>]*>Unsubscribe/))
      await reader.getByRole('button', { name: /unsubscribe/i }).click()
      await reader
        .getByText(/unsubscribed/i)
        .first()
        .waitFor()
      await reader.close()
    }
  })
}

const RECORD_PROGRESS = `
  globalThis.shownProgress = []
  new MutationObserver(() => {
    const value = Number(document.querySelector('[role="progressbar"]')?.getAttribute('aria-valuenow') ?? Number.NaN)
    // the bar of the trial run, which has ended, is shown until that of the import is
    if (Number.isNaN(value) || (shownProgress.length === 0 && value === 100)) return
    if (shownProgress.at(-1) !== value) shownProgress.push(value)
  }).observe(document.body, { subtree: true, childList: true, attributeFilter: ['aria-valuenow'] })
`

/** Returns a function for the values that the bar of an import has shown since, each change once. */
async function recordProgress(page: Page): Promise<() => Promise<readonly number[]>> {
  await page.evaluate(RECORD_PROGRESS)
  return () => page.evaluate<readonly number[]>('shownProgress')
}

/** With a wrong address in row 5 and a repeated one in row 7. */
function csvOf(rows: number): string {
  const address = (row: number): string => (row === 5 ? 'no address' : `person-${row === 7 ? 6 : row}@crowd.example`)
  const lines = Array.from({ length: rows }, (_, row) => `${address(row)},Person ${row},Plan ${row % 3},${row}`)
  return ['Contact,Name,Plan,Internal', ...lines].join('\n')
}
