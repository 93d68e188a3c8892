/** The package ships no types. Only a test asks it for a second opinion. */
declare module 'html-to-text' {
  export function compile(options: object): (html: string) => string
}
