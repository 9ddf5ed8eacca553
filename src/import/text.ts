/**
 * Takes the text of a file in pieces of any length. Both methods throw an `Error` with a sentence when the file is
 * wrong.
 */
export type TextReader<Item> = {
  /** The items completed so far. */
  push(text: string): Item[];
  /** The last items. Call it once, after the last piece. */
  end(): Item[];
};

/** A place in the text read so far. */
export type Place = {
  /** No more of it than an item may take: how much follows depends on how the file is read. */
  text: string;
  at: number;
  /** The line of the file, from 1. */
  line: number;
  /** Whether what is there may need no more text: none follows, or it is too long already. */
  isWhole: boolean;
};

export type Found<Item> = {
  /** Undefined for what is no item, such as an empty line. */
  item?: Item | undefined;
  /** The index after it. */
  end: number;
};

/**
 * @param longest the most characters in an item, without its line break
 * @param find reads what is at a place; undefined when it may continue after the end of the text
 */
export function createTextReader<Item>(
  longest: number,
  tooLong: (line: number) => Error,
  find: (place: Place) => Found<Item> | undefined,
): TextReader<Item> & { line(): number } {
  let text = '';
  let line = 1;

  function take(isLast: boolean): Item[] {
    const items: Item[] = [];
    let at = 0;
    while (at < text.length) {
      const most = at + longest + 1;
      const found = find({ text: text.slice(0, most), at, line, isWhole: isLast || text.length >= most });
      const { item, end } = found ?? { end: text.length };
      const length = end - at - (text[end - 1] === '\n' ? 1 : 0);
      if (length > longest && (!found || item !== undefined)) throw tooLong(line);
      if (!found) break;
      if (item !== undefined) items.push(item);
      line += lineBreaks(text.slice(at, end));
      at = end;
    }
    text = text.slice(at);
    return items;
  }

  return {
    push(more) {
      text += more;
      return take(false);
    },
    end: () => take(true),
    /** The line in which the text so far ends. */
    line: () => line + lineBreaks(text),
  };
}

function lineBreaks(text: string): number {
  return text.split('\n').length - 1;
}

/** The index after the line, or 0 when it may continue after the end of the text. */
export function endOfLine({ text, at, isWhole }: Place): number {
  return text.indexOf('\n', at) + 1 || (isWhole ? text.length : 0);
}
