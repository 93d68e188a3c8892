import { assert } from 'chai'
import fc from 'fast-check'
import { svgOf } from './logo.test-data.ts'
import { findSvgProblem, MAX_LOGO_BYTES } from './svg-tiny-ps.ts'

const ROOT = '<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">'
const EXTERNAL = /only references within the file/

describe('logos as SVG Tiny PS', () => {
  const valid: readonly (readonly [what: string, svg: string])[] = [
    ['shapes', svgOf('<g><path d="M0 0h64v64z"/><circle r="3"/></g>')],
    ['a gradient within the file', svgOf('<linearGradient id="a"/><rect fill="url(#a)"/><use xlink:href="#a"/>')],
    ['metadata of any kind', svgOf('<metadata><rdf:RDF><cc:Work rdf:about="x"/></rdf:RDF></metadata>')],
    ['an XML declaration and a comment', `<?xml version="1.0"?><!-- <script/> -->${svgOf()}`],
    ['a byte order mark', `\uFEFF${svgOf()}`],
    ['a description', svgOf('<desc>Logo &amp; more &#169;</desc>')],
  ]
  for (const [what, svg] of valid)
    it(`accept ${what}`, () => assert.strictEqual(findSvgProblem(Buffer.from(svg)), null))

  const entities = Array.from({ length: 9 }, (_, i) => `<!ENTITY a${i + 1} "${`&a${i};`.repeat(10)}">`).join('')
  const bomb = `<!DOCTYPE svg [<!ENTITY a0 "ha">${entities}]>${svgOf('<desc>&a9;</desc>')}`
  const wrong: readonly (readonly [what: string, svg: string, problem: RegExp])[] = [
    ['a script', svgOf('<script>alert(1)</script>'), /element <script>/],
    ['a script in another namespace', svgOf('<svg:script/>'), /element <script>/],
    ['a script in capitals', svgOf('<SCRIPT/>'), /element <SCRIPT>/],
    ['an event handler', svgOf('<rect onload="alert(1)"/>'), /event handler onload/],
    ['an event handler at the root', svgOf().replace('<svg ', '<svg onload="a()" '), /event handler/],
    ['an animation', svgOf('<animate attributeName="x"/>'), /element <animate>/],
    ['a raster image', svgOf('<image xlink:href="data:image/png;base64,AA"/>'), /element <image>/],
    ['HTML', svgOf('<foreignObject/>'), /element <foreignObject>/],
    ['a link', svgOf('<a xlink:href="https://x.example/"/>'), /element <a>/],
    ['a style sheet', svgOf('<style>@import url(https://x.example/a.css)</style>'), /element <style>/],
    ['a style attribute', svgOf('<rect style="fill:red"/>'), /style="…"/],
    ['a reference to another file', svgOf('<use xlink:href="https://x.example/a.svg#b"/>'), EXTERNAL],
    ['a reference without a prefix', svgOf('<use href="//x.example/a.svg#b"/>'), EXTERNAL],
    ['a file of this machine', svgOf('<use xlink:href="file:///etc/passwd"/>'), EXTERNAL],
    ['an external paint', svgOf('<rect fill="url( \'https://x.example/#a\')"/>'), EXTERNAL],
    ['a base', svgOf('<g xml:base="https://x.example/"/>'), /xml:base/],
    ['a bomb of entities', bomb, /document type or entities/],
    ['an external entity', `<!DOCTYPE svg SYSTEM "file:///etc/passwd">${svgOf()}`, /document type/],
    ['a style sheet instruction', `<?xml-stylesheet href="https://x.example/"?>${svgOf()}`, /xml-stylesheet/],
    ['another profile', svgOf().replace('tiny-ps', 'tiny'), /baseProfile/],
    ['another version', svgOf().replace('"1.2"', '"1.1"'), /version/],
    ['no namespace', svgOf().replace(/ xmlns="[^"]*"/, ''), /lacks xmlns/],
    ['no title', svgOf().replace(/<title>.*<\/title>/, ''), /no <title>/],
    ['an empty title', svgOf().replace(/<title>.*<\/title>/, '<title> </title>'), /no <title>/],
    ['a title elsewhere', svgOf('<g><title>x</title></g>').replace(/<title>Shop<\/title>/, ''), /no <title>/],
    ['a long title', svgOf().replace('Shop', 'x'.repeat(65)), /more than 64/],
    ['a position', svgOf().replace('<svg ', '<svg x="1" '), /x or y/],
    ['no viewBox', svgOf().replace(/ viewBox="[^"]*"/, ''), /viewBox/],
    ['a wide viewBox', svgOf().replace('0 0 64 64', '0 0 128 64'), /not square/],
    ['an endless nesting', `${ROOT}<title>x</title>${'<g>'.repeat(2000)}`, /nested too deeply/],
    ['too many elements', svgOf('<g/>'.repeat(6000)), /too many elements/],
    ['an end that is missing', `${ROOT}<title>x</title><g>`, /well-formed/],
    ['ends in another order', `${ROOT}<title>x</title><g><path></g></path></svg>`, /well-formed/],
    ['a second root', `${svgOf()}${svgOf()}`, /not an SVG file/],
    ['an svg within', svgOf('<svg/>'), /inside another/],
    ['HTML alone', '<html><body/></html>', /not an SVG file/],
    ['nothing', '', /not an SVG file/],
    ['NUL', `${svgOf()}\0`, /not UTF-8/],
    ['too many octets', svgOf(`<desc>${'x'.repeat(MAX_LOGO_BYTES)}</desc>`), /more than 32 KB/],
  ]
  for (const [what, svg, problem] of wrong)
    it(`refuse ${what}`, () => assert.match(findSvgProblem(Buffer.from(svg)) ?? 'valid', problem))

  it('refuse octets that are not UTF-8', () =>
    assert.match(findSvgProblem(Buffer.from([0xff, 0xfe, 0x3c])) ?? '', /UTF-8/))

  it('of any text end in a result', () => {
    const part = fc.constantFrom(...'<svg>,<svg ,</svg>,<!,<?,<![CDATA[,]]>,&,;,&#x0;,"," =,/>,x,<g,>'.split(','), ROOT)
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        const problem = findSvgProblem(Buffer.from(parts.join('')))
        assert.ok(problem === null || problem.length > 0)
      }),
    )
  })
})
