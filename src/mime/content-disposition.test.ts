import { assert } from 'chai'
import * as fc from 'fast-check'
import { simpleParser } from 'mailparser'
import { dispositionOf } from './content-disposition.ts'

const read = async (field: string): Promise<string | undefined> => {
  const part = `Content-Type: application/pdf\r\nContent-Disposition: ${field}\r\n\r\nx\r\n`
  const mail = await simpleParser(`Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${part}--b--\r\n`)
  assert.lengthOf(mail.attachments, 1)
  return mail.attachments[0]?.filename
}

describe('the disposition of a file', () => {
  const table: readonly [filename: string, plain: string, exact: string | null][] = [
    ['invoice.pdf', 'invoice.pdf', null],
    ['a "quoted" \\ name.bin', 'a \\"quoted\\" \\\\ name.bin', null],
    ['Übersicht März.pdf', 'Ubersicht Marz.pdf', "filename*=utf-8''%C3%9Cbersicht%20M%C3%A4rz.pdf"],
    ['請求書.pdf', 'attachment.pdf', "filename*=utf-8''%E8%AB%8B%E6%B1%82%E6%9B%B8.pdf"],
    ['Plan 計画 (2).xlsx', 'Plan _ (2).xlsx', "filename*=utf-8''Plan%20%E8%A8%88%E7%94%BB%20%282%29.xlsx"],
    ['😀', 'attachment', "filename*=utf-8''%F0%9F%98%80"],
  ]
  for (const [filename, plain, exact] of table)
    it(`names ${filename} for every reader`, async () => {
      const field = dispositionOf('attachment', filename)
      const expected = ['attachment', ...(exact === null ? [] : [exact]), `filename="${plain}"`]
      assert.deepEqual(field.split(';\r\n '), expected)
      assert.strictEqual(await read(field), filename)
    })

  it('splits a long name into sections that fit a line', async () => {
    for (const filename of [`${'ü'.repeat(90)}.pdf`, `${'long'.repeat(60)}.pdf`]) {
      const lines = dispositionOf('inline', filename).split('\r\n ')
      assert.ok(
        lines.filter((line) => line.startsWith('filename*')).every((line) => line.length <= 78),
        lines.join('\n'),
      )
      assert.strictEqual(await read(lines.join('\r\n ')), filename)
    }
  })

  it('is one field for any name', async () => {
    const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(names, async (filename) => {
        const field = dispositionOf('attachment', filename)
        assert.match(field, /^attachment(?:;\r\n [ -~]+)+$/)
        assert.isDefined(await read(field))
      }),
      { numRuns: 300 },
    )
  })
})
