/** Every check of `mailstead doctor` names a page and a section that exist. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { guideOf, guideUrlOf } from '#src/doctor/guides.ts'
import { CHECKS } from './doctor.ts'

describe('the guides of mailstead doctor', () => {
  const slugOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-')

  for (const { name } of CHECKS) {
    it(name, () => {
      const [file = '', section] = guideOf(name).split('#')
      const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
      const slugs = text.split('\n').flatMap((line) => (/^#+ /.test(line) ? [slugOf(line.replace(/^#+ /, ''))] : []))
      if (section !== undefined) assert.include(slugs, section)
    })
  }

  it('have a URL', () =>
    assert.strictEqual(
      guideUrlOf('PTR', 'https://mail.example.com'),
      'https://mail.example.com/docs/guides/going-live#1-prepare-the-host',
    ))
})
