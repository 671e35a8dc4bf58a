# One text a line from the content of a Debian package:  perl to_text.pl gcide|anarchism|wordnet|kjv|wordnet-classes < in > out
# wordnet-classes is a table for data.classification: a heading, then label, tab, text.
# Needs nothing beyond perl-base.
use strict;
use warnings;

my %convert = (gcide => \&gcide, anarchism => \&anarchism, wordnet => \&wordnet, kjv => \&kjv, 'wordnet-classes' => \&wordnet_classes);
my $corpus  = shift // '';
my $run     = $convert{$corpus} or die "to_text.pl: no corpus '$corpus'; there are: @{[sort keys %convert]}\n";
$run->();
close(STDOUT) or die "to_text.pl: writing failed: $!\n";

# Prints a text on one line after its prefix, unless only marks remain of it.
sub put {
  my ($text, $before) = @_;
  $text =~ s/\s+/ /g;
  $text =~ s/^ | $//g;
  print $before // '', "$text\n" if $text =~ /[A-Za-z]{2}/;
}

# The dictionary: paragraphs between empty lines. An entry begins in the first column with the headword, its pronunciation
# (between backslashes, then in parentheses) and where it comes from (in brackets); only the headword and its meaning are kept.
sub gcide {
  my $marks    = qr/(?:1913 Webster|Webster 1913|Webster Suppl|WordNet|Century Dict|PJC|RP|RH|AS)\b[^\[\]]*/;
  my $nested   = qr/(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*/;
  my $language = qr/\b(?:A?L|LL|NL|Gr|NGr|LGr|F|OF|NF|OE|ME|AS|E|G|OHG|MHG|LG|D|OD|OS|Icel|Dan|Sw|Goth|It|Sp|Pg|Pr|W|Ir|Gael
                   |Skr|Heb|Ar|Per|Turk|Hind|Russ|Pol|Malay|Scand|Corn|Arm|Lith|Chin|Jap|Abbrev|Etymol|Imit|Contr)\./x;
  my $origin   = qr/(?:See|Cf|From|Fr|Perh|Prob|Probably|Perhaps|Of|Formed|So called|Named|Orig|Originally|An? corrupt\w*|The same|Corrupt\w*
                   |Compar\w*|Dim|Native|Contracted|Imitative|Equiv\w*|p\. p|imp|Pref|Abbreviat\w*|Same|Etym\w*|Said|Acc|After|Either)\b/x;
  my %letters  = (ae => 'ae', AE => 'AE', oe => 'oe', OE => 'OE', eth => 'th', thorn => 'th', th => 'th', ng => 'ng', aum => 'a',
                  oum => 'o', uum => 'u', imac => 'i', asl => 'a', add => 'a', udd => 'u', yogh => 'gh', sect => 'section ',
                  deg => ' degrees', frac12 => '1/2', root => '');
  local $/ = '';
  my $started = 0;
  while (my $text = <STDIN>) {
    # The preface is about the file; it ends where a headword repeats itself between backslashes.
    if (!$started) {
      $text =~ s/\A.*?^(?=(\S+) \\\1\\)//ms or next;
      $started = 1;
    }
    my $entry = $text =~ /\A\n*\S/;
    $text =~ s/\s+/ /g;
    $text =~ s/\A | \z//g;

    # A mark of the source ends a paragraph; a headword repeated after it is a seam of the file.
    $text =~ s/\[$marks\] [^\[\].]{1,60}\z//;
    $text =~ s/ ?\[$marks\]//g;

    if ($entry) {
      # Twice: an entry may have a second spelling with a second pronunciation.
      $text =~ s/ ?\\[^\\]*\\(?: ?\((?:[^()]|\([^()]*\))*\))?,?/,/g;
      $text =~ s/ \([^()]*[?"`*\[][^()]*\)//;
    }
    # Letters with marks: [o^], [=e], ["u], [ae].
    $text =~ s/\[([A-Za-z]+\d*)\]/$letters{$1} \/\/ "[$1]"/ge;
    $text =~ s/\[[^A-Za-z0-9\[\]\s]{1,3}([A-Za-z]{1,2})\]/$1/g;
    $text =~ s/\[([A-Za-z]{1,2})[^A-Za-z0-9\[\]\s.]{1,2}\]/$1/g;
    # Where words come from. Notes on their use ([Obs.], [Written also cott.]) stay.
    $text =~ s{ ?\[($nested)\]}{ my $note = $1;
      $note =~ /\A\W*$origin/ || $note =~ /\?|\A\d*\z/ || ($note =~ $language && $note !~ /\A(?:Written|Spelt|Formerly|Chiefly|Local|Prov)/)
        ? '' : " [$note]" }ge;
    $text =~ tr/{}//d;
    $text =~ s/ +([,.;:])/$1/g;
    $text =~ s/,(?:[ ,]*,)+/,/g;
    put($text);
  }
  die "to_text.pl: no entry of the dictionary was recognised\n" if !$started;
}

# Web pages: one text a paragraph, heading, list item or quotation.
sub anarchism {
  local $/;
  my $page = <STDIN>;
  $page =~ s/<head\b.*?<\/head>//gs;
  $page =~ s/<(?:script|style)\b.*?<\/(?:script|style)>//gs;
  $page =~ s/<!--.*?-->//gs;
  my %named = (nbsp => ' ', quot => '"', lt => '<', gt => '>', amp => '&', apos => "'", eacute => "\xC3\xA9", rsquo => "'", lsquo => "'",
               ldquo => '"', rdquo => '"', mdash => '-', ndash => '-', hellip => '...');
  for my $block (split /<\/?(?:p|h[1-6]|li|ul|ol|blockquote|div|title|td|tr|table|body|html|hr|br)\b[^>]*>/i, $page) {
    $block =~ s/<[^>]*>//g;
    $block =~ s/&(\w+);/$named{$1} \/\/ "&$1;"/ge;
    $block =~ s/&#(\d+);/$1 < 128 ? chr($1) : ' '/ge;
    $block =~ s/\A[^<>]*?"?\s*>//;  # Rest of a link with a stray quotation mark.
    put($block);
  }
}

# Definitions with their examples: the text after the bar of a data file.
sub wordnet {
  while (my $line = <STDIN>) {
    put($1) if $line =~ /\A\d{8} [^|]*\| (.*)/;
  }
}

# The same with the lexicographer's file of each, which is the second field of a line: lexnames(5WN).
sub wordnet_classes {
  my @classes = qw(adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition
                   noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person
                   noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state
                   noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition
                   verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social
                   verb.stative verb.weather adj.ppl);
  print "label\tsentence\n";
  while (my $line = <STDIN>) {
    next if $line !~ /\A\d{8} (\d\d) [^|]*\| (.*)/;
    put($2, ($classes[$1] // die "to_text.pl: no lexicographer's file has the number $1\n") . "\t");
  }
}

# Output of the reader `bible`: a line a verse, its number first.
sub kjv {
  while (my $line = <STDIN>) {
    put($1) if $line =~ /\A +\d+ (.*)/;
  }
}
