/** Each reason that is written here has a code; so have several findings. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { findCampaignTranslation } from './reason-texts.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Where reasons and blockers are written. */
const SOURCES: readonly (readonly [file: string, place: RegExp])[] = [
  ['src/campaigns/advance.ts', /pauseCampaign\(tx, campaign, '([^']+)'\)/g],
  ['src/campaigns/start.ts', /unforceable\(\s*'[\w-]+',\s*['`]([^'`]+)['`]/g],
  ['src/campaigns/start.ts', /message: `([^`]+)`/g],
  ['api/routes/campaign-sending.ts', /reason: '([^']+)'/g],
  ['api/routes/campaign-sending.ts', /message: "([^"]+)"/g],
]

describe('reasons of campaigns', () => {
  for (const [file, place] of SOURCES)
    it(`have a code in ${file}, ${place.source}`, () => {
      const found = [...readFileSync(join(ROOT, file), 'utf8').matchAll(place)].map(([, text = '']) =>
        text.replaceAll(/\$\{[^}]*\}/g, '7'),
      )
      assert.isNotEmpty(found)
      assert.deepEqual(
        found.filter((text) => findCampaignTranslation(text) === null),
        [],
      )
    })

  it('that are several have the codes of each', () => {
    assert.deepEqual(
      findCampaignTranslation(
        'the campaign has no existing audience; the content cannot be rendered: the body, line 2: unknown helper "x";' +
          ' available helpers: if, each',
      ),
      {
        code: 'several.findings',
        params: {
          first: 'the campaign has no existing audience',
          rest: 'the content cannot be rendered: the body, line 2: unknown helper "x"; available helpers: if, each',
        },
        param_translations: {
          first: { code: 'finding.no_audience', params: {} },
          rest: {
            code: 'campaign_reason.content_not_rendered',
            params: { problem: 'the body, line 2: unknown helper "x"; available helpers: if, each' },
            param_translations: {
              problem: {
                code: 'template.at_line',
                params: { part: 'body', line: '2', problem: 'unknown helper "x"; available helpers: if, each' },
                param_translations: {
                  part: { code: 'template.part_body', params: {} },
                  problem: { code: 'template.unknown_helper', params: { name: 'x', names: 'if, each' } },
                },
              },
            },
          },
        },
      },
    )
  })

  it('that name nothing known have none', () => {
    assert.isNull(findCampaignTranslation('something else'))
  })
})
