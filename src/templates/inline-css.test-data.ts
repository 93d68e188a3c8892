/** Sources and what is inlined in them. */

/** The part of each source after `</style>`. */
export const AFTER_SHEET_CASES: readonly [rule: string, css: string, html: string, inlined: string][] = [
  ['a class', '.a{color:red}', '<p class="a">x</p>', '<p style="color: red;" class="a">x</p>'],
  [
    'an id, a tag, a descendant',
    '#i{top:0} p b{color:red}',
    '<p id=i><b>x</b></p>',
    '<p style="top: 0;" id=i><b style="color: red;">x</b></p>',
  ],
  [
    'the style of the element wins',
    'p{color:red;margin:0}',
    '<p style="color:blue">x</p>',
    '<p style="margin: 0; color: blue;">x</p>',
  ],
  [
    '!important in the sheet wins over the element',
    'p{color:red !important}',
    '<p style="color:blue">x</p>',
    '<p style="color: red;">x</p>',
  ],
  [
    'the more specific selector wins',
    '#i{color:red} p{color:blue}',
    '<p id="i">x</p>',
    '<p style="color: red;" id="i">x</p>',
  ],
  [
    'media queries and pseudo classes stay in the sheet',
    '@media (max-width:9px){p{color:red}} p:hover{color:red}',
    '<p>x</p>',
    '<p>x</p>',
  ],
  [
    'positional selectors apply if no block repeats elements',
    'p:first-child{color:red}',
    '<div><p>x</p><p>y</p></div>',
    '<div><p style="color: red;">x</p><p>y</p></div>',
  ],
  [
    'positional selectors stay in the sheet if a block repeats elements',
    'td:first-child{color:red}',
    '{{#each l}}<td>x</td>{{/each}}',
    '{{#each l}}<td>x</td>{{/each}}',
  ],
  ['single quotes', 'p{font-family:"A B"}', `<p style='x:y'>x</p>`, `<p style="font-family: 'A B'; x: y;">x</p>`],
  [
    'upper case, self-closing, odd spaces stay',
    'P,br{color:red}',
    '<P  CLASS=a >x<BR/>',
    '<P style="color: red;"  CLASS=a >x<BR style="color: red;"/>',
  ],
  [
    'elements without end tags',
    'li{color:red}',
    '<ul><li>a<li>b</ul>',
    '<ul><li style="color: red;">a<li style="color: red;">b</ul>',
  ],
  [
    "comments, entities and Outlook's conditional comments stay",
    'p{color:red}',
    '<!--[if mso]><p>x</p><![endif]--><p>&nbsp;&amp;<p>',
    '<!--[if mso]><p>x</p><![endif]--><p style="color: red;">&nbsp;&amp;<p style="color: red;">',
  ],
  [
    'an expression in text and attributes',
    'p{color:red}',
    '<p title="{{t}}">{{> x}}{{{y}}}</p>',
    '<p style="color: red;" title="{{t}}">{{> x}}{{{y}}}</p>',
  ],
  [
    'an expression in the style of an element stays there, last',
    'p{color:red}',
    '<p style="top:{{a}}">x</p>',
    '<p style="color: red; top:{{a}}">x</p>',
  ],
  [
    'an expression in a style attribute keeps its quotes',
    'p{font:"x"}',
    `<p style='top:{{default a "1"}}'>x</p>`,
    `<p style='font: &#39;x&#39;; top:{{default a "1"}}'>x</p>`,
  ],
  [
    'a value of the sheet that is an expression',
    'p{color:{{default c "red"}} ;top:0}',
    '<p>x</p>',
    '<p style="color: {{default c "red"}}; top: 0;">x</p>',
  ],
  ['a sheet with blocks is left alone', '{{#if a}}p{color:red}{{/if}}', '<p>x</p>', '<p>x</p>'],
  ['a sheet with unescaped values is left alone', 'p{color:{{{c}}} ;}', '<p>x</p>', '<p>x</p>'],
  [
    'an invalid style attribute stays',
    'p{color:red}',
    '<p style="<p class=">x</p><p style="top:0">y</p>',
    '<p style="color: red; <p class=">x</p><p style="color: red; top:0">y</p>',
  ],
  [
    'one invalid style attribute keeps all others unchanged',
    'p{color:red}',
    '<p style="<p class=">x</p><p style=top:0>y</p><p style>z</p>',
    '<p style="color: red; <p class=">x</p><p style="color: red; top:0">y</p><p style="color: red; ">z</p>',
  ],
  [
    'a conditional class',
    '.a{color:red}',
    '<p class="{{#if x}} a {{/if}}">x</p><p class="a {{k}}">y</p>',
    '<p class="{{#if x}} a {{/if}}">x</p><p style="color: red;" class="a {{k}}">y</p>',
  ],
  [
    'a tag with a block between its attributes',
    'p{color:red}',
    '<p {{#if x}}class="a"{{else}}class="b"{{/if}}>x</p>',
    '<p {{#if x}}class="a"{{else}}class="b"{{/if}}>x</p>',
  ],
  [
    'rows in a loop',
    'td{color:red}',
    '<table>{{#each r}}<tr><td>{{this}}</td></tr>{{/each}}</table>',
    '<table>{{#each r}}<tr><td style="color: red;">{{this}}</td></tr>{{/each}}</table>',
  ],
  ['CSS without its closing brace', 'p{color:red', '<p>x</p>', '<p>x</p>'],
  [
    'CSS custom properties',
    ':root{--c:red} p{color:var(--c)}',
    '<html><p>x</p></html>',
    '<html><p style="color: red;">x</p></html>',
  ],
  [
    'nothing is fetched',
    '@import url(https://evil.example/a.css); p{background:url(https://evil.example/b.png)}',
    '<p>x</p>',
    '<p style="background: url(https://evil.example/b.png);">x</p>',
  ],
]

/** Whole sources, with their style sheets. */
export const WHOLE_SOURCE_CASES: readonly [rule: string, html: string, inlined: string][] = [
  ['without a style sheet nothing changes', '<p class="a"  >x<br></P>', '<p class="a"  >x<br></P>'],
  [
    'a sheet in a block',
    '{{#if a}}<style>p{color:red}</style>{{/if}}<p>x</p>',
    '{{#if a}}<style>p{color:red}</style>{{/if}}<p>x</p>',
  ],
  [
    'a block that opens an element that another block closes',
    '<style>.x p{top:0}</style>{{#if a}}<div class="x">{{else}}<div class="y">{{/if}}<p>x</p></div>',
    '<style>.x p{top:0}</style>{{#if a}}<div class="x">{{else}}<div class="y">{{/if}}<p>x</p></div>',
  ],
  [
    'a block that closes an element opened outside of it',
    '<style>p{top:0}</style><div>{{#if a}}</div><p>{{/if}}',
    '<style>p{top:0}</style><div>{{#if a}}</div><p>{{/if}}',
  ],
  [
    'blocks with complete elements, or with omitted end tags',
    '<style>li{top:0}</style><ul>{{#each l}}<li>{{#if a}}<b>x</b><br>{{else}}<img/>{{/if}}{{/each}}</ul>',
    '<style>li{top:0}</style><ul>' +
      '{{#each l}}<li style="top: 0;">{{#if a}}<b>x</b><br>{{else}}<img/>{{/if}}{{/each}}</ul>',
  ],
  [
    'unclosed tags outside of blocks',
    '<style>p{top:0}</style><div></b>{{#if a}}<p>x</p>{{/if}}',
    '<style>p{top:0}</style><div></b>{{#if a}}<p style="top: 0;">x</p>{{/if}}',
  ],
  [
    'sibling selectors if a block may add a sibling',
    '<style>p + p{top:0}</style>{{#if a}}<p>x</p>{{/if}}<p>y</p>',
    '<style>p + p{top:0}</style>{{#if a}}<p>x</p>{{/if}}<p>y</p>',
  ],
  [
    'sibling selectors without blocks',
    '<style>p + p{top:0}</style><p>x</p><p>y</p>',
    '<style>p + p{top:0}</style><p>x</p><p style="top: 0;">y</p>',
  ],
  [
    'a sheet after a block',
    '{{#if a}}b{{/if}}<style>p{top:0}</style><p>x</p>',
    '{{#if a}}b{{/if}}<style>p{top:0}</style><p style="top: 0;">x</p>',
  ],
  [
    'a sheet for print',
    '<style media="print">p{color:red}</style><p>x</p>',
    '<style media="print">p{color:red}</style><p>x</p>',
  ],
  [
    'two sheets: the later wins',
    '<style>p{top:0}</style><style>p{top:1px}</style><p>x</p>',
    '<style>p{top:0}</style><style>p{top:1px}</style><p style="top: 1px;">x</p>',
  ],
  [
    'a link is not followed',
    '<link rel="stylesheet" href="https://evil.example"><style>p{top:0}</style><p>',
    '<link rel="stylesheet" href="https://evil.example"><style>p{top:0}</style><p style="top: 0;">',
  ],
]
